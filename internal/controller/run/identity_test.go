// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"errors"
	"regexp"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1alpha1"
	"github.com/nestor-dev/nestor/internal/controller/resolve"
	"github.com/nestor-dev/nestor/internal/ledger"
)

// ownedBy makes an object belong to another one.
func ownedBy[T client.Object](owner client.Object, kind string, object T) T {
	controls := true
	object.SetOwnerReferences([]metav1.OwnerReference{{
		APIVersion: v1alpha1.GroupVersion.String(), Kind: kind, Name: owner.GetName(), UID: owner.GetUID(), Controller: &controls,
	}})
	return object
}

func named(name, uid string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: "a", Name: name, UID: types.UID(uid)}
}

func TestASuffixDerivesFromTheOwner(t *testing.T) {
	form := regexp.MustCompile(`^[a-z][a-z0-9]{4}$`)
	seen := map[string]bool{}
	for _, uid := range []types.UID{"one", "two"} {
		for _, name := range []string{"release-1", "release-2"} {
			suffix := Suffix(uid, name)
			if !form.MatchString(suffix) || seen[suffix] || suffix != Suffix(uid, name) {
				t.Errorf("the suffix of %s for %s is %q", name, uid, suffix)
			}
			seen[suffix] = true
		}
	}
}

// A task finds its sub-agent among those that have, or had, its name.
func TestASubAgentIsFoundByItsOwner(t *testing.T) {
	task := &v1alpha1.AgentTask{ObjectMeta: named("work", "new"), Spec: v1alpha1.AgentTaskSpec{Type: v1alpha1.TaskAgent}}
	old := &v1alpha1.AgentTask{ObjectMeta: named("work", "old")}
	leftover := ownedBy(old, "AgentTask", &v1alpha1.SubAgent{ObjectMeta: named("work", "leftover")})
	renamed := ownedBy(task, "AgentTask", &v1alpha1.SubAgent{ObjectMeta: named(SubAgentNames(task)[1], "renamed")})
	orphan := &v1alpha1.SubAgent{ObjectMeta: named("work", "orphan")}
	for name, test := range map[string]struct {
		objects []client.Object
		want    string
	}{
		"a leftover":                         {[]client.Object{leftover}, ""},
		"an orphan":                          {[]client.Object{orphan}, ""},
		"its own beside a leftover":          {[]client.Object{leftover, renamed}, "renamed"},
		"its own after the leftover is gone": {[]client.Object{renamed}, "renamed"},
	} {
		api := clusterWith(t, test.objects...)
		r := &Runner{Client: api, Finder: resolve.Finder{Live: api}}
		if uid, err := r.TaskUID(t.Context(), task); uid != test.want || err != nil {
			t.Errorf("%s: the agent is %q, want %q (%v)", name, uid, test.want, err)
		}
	}
}

func TestALineageEndsWhereSomethingWasDeleted(t *testing.T) {
	now := metav1.Now()
	chat := &v1alpha1.AgentChat{ObjectMeta: named("chat", "chat")}
	again := &v1alpha1.AgentChat{ObjectMeta: named("chat", "again")}
	going := &v1alpha1.AgentChat{ObjectMeta: named("chat", "chat")}
	going.DeletionTimestamp, going.Finalizers = &now, []string{"foregroundDeletion"}
	task := ownedBy(chat, "AgentChat", &v1alpha1.AgentTask{ObjectMeta: named("chat-1", "task"), Spec: v1alpha1.AgentTaskSpec{Chat: "chat"}})
	orphan := &v1alpha1.AgentTask{ObjectMeta: named("chat-1", "task"), Spec: v1alpha1.AgentTaskSpec{Chat: "chat"}}
	standalone := &v1alpha1.AgentTask{ObjectMeta: named("chat-1", "task")}
	sub := ownedBy(task, "AgentTask", &v1alpha1.SubAgent{ObjectMeta: named("chat-1", "sub")})
	for name, test := range map[string]struct {
		objects []client.Object
		gone    bool
		parent  types.UID
	}{
		"everything is there":        {[]client.Object{chat, task, sub}, false, "chat"},
		"the chat is deleted":        {[]client.Object{task, sub}, true, ""},
		"the chat is being deleted":  {[]client.Object{going, task, sub}, true, ""},
		"the chat was created again": {[]client.Object{again, task, sub}, true, ""},
		"the task is deleted":        {[]client.Object{chat, sub}, true, ""},
		"the task is an orphan":      {[]client.Object{chat, orphan, sub}, true, ""},
		"the task is standalone":     {[]client.Object{standalone, sub}, false, ""},
	} {
		api := clusterWith(t, test.objects...)
		r := &Runner{Client: api, Finder: resolve.Finder{Live: api}}
		lineage, err := r.Lineage(t.Context(), sub)
		if err != nil || lineage.Gone != test.gone {
			t.Errorf("%s: gone %t, want %t (%v)", name, lineage.Gone, test.gone, err)
		}
		if !test.gone && (lineage.Parent != nil) != (test.parent != "") {
			t.Errorf("%s: the parent is %v", name, lineage.Parent)
		}
		for _, confirm := range []bool{false, true} {
			there, err := r.HasObject(t.Context(), ledger.Agent{UID: "sub", Kind: "SubAgent", Namespace: "a", Name: "chat-1"}, confirm)
			if err != nil || there == test.gone {
				t.Errorf("%s: the agent has its object: %t (%v)", name, there, err)
			}
		}
	}
}

func TestWhatPassesByItselfIsNotRefused(t *testing.T) {
	resource := schema.GroupResource{Group: "nestor.dev", Resource: "agenttasks"}
	kind := schema.GroupKind{Group: "nestor.dev", Kind: "AgentTask"}
	terminating := apierrors.NewForbidden(resource, "a", errors.New("unable to create new content"))
	terminating.ErrStatus.Details.Causes = append(terminating.ErrStatus.Details.Causes, metav1.StatusCause{Type: corev1.NamespaceTerminatingCause})
	for name, test := range map[string]struct {
		err     error
		refused bool
	}{
		"nothing":                          {nil, false},
		"missing rights of the operator":   {apierrors.NewForbidden(resource, "a", errors.New(`User "o" cannot create resource "agenttasks" in API group "nestor.dev"`)), false},
		"a quota":                          {apierrors.NewForbidden(resource, "a", errors.New("exceeded quota: tasks")), true},
		"an uncounted quota":               {apierrors.NewForbidden(resource, "a", errors.New("status unknown for quota: tasks")), false},
		"an invalid object":                {apierrors.NewInvalid(kind, "a", nil), true},
		"a bad request":                    {apierrors.NewBadRequest("no"), true},
		"a too large object":               {apierrors.NewRequestEntityTooLargeError("limit is 3145728"), true},
		"a too large object, as etcd says": {apierrors.NewInternalError(errors.New("etcdserver: request is too large")), true},
		"a terminating namespace":          {terminating, false},
		"no such namespace":                {apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "a"), false},
		"a conflict":                       {apierrors.NewConflict(resource, "a", errors.New("changed")), false},
		"too many requests":                {apierrors.NewTooManyRequests("later", 1), false},
		"a timeout":                        {apierrors.NewTimeoutError("slow", 1), false},
		"a server in trouble":              {apierrors.NewInternalError(errors.New("broken")), false},
		"no server":                        {errors.New("connection refused"), false},
	} {
		if got := Refused(test.err); got != test.refused {
			t.Errorf("%s is refused: %t", name, got)
		}
	}
}
