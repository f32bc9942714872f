// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/client/kube"
)

// callerOf returns a caller with the role merge-review, who may not read the operator's namespace if sealed.
func callerOf(t *testing.T, sealed bool) *Caller {
	t.Helper()
	own := &v1beta1.AgentRole{ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "merge-review"}}
	api := fake.NewClientBuilder().WithScheme(kube.NewScheme()).WithObjects(own).WithInterceptorFuncs(interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
			if sealed && key.Namespace == "nestor-system" {
				return apierrors.NewForbidden(schema.GroupResource{Resource: "agentroles"}, key.Name, nil)
			}
			return c.Get(ctx, key, object, options...)
		},
	}).Build()
	return &Caller{User: "alice", API: api, connector: &Connector{operatorNamespace: "nestor-system"}}
}

func tasksOf(t *testing.T, c *Caller) int {
	t.Helper()
	var list v1beta1.AgentTaskList
	if err := c.API.List(t.Context(), &list); err != nil {
		t.Fatal(err)
	}
	return len(list.Items)
}

func TestMistypedRole_Refused(t *testing.T) {
	c := callerOf(t, false)
	for name, want := range map[string]string{
		"merge-reviw": `there is no role "merge-reviw" in the namespace team-a; did you mean merge-review?`,
		"codre":       `there is no role "codre" in the namespace team-a; did you mean coder?`,
		"archivist":   `there is no role "archivist" in the namespace team-a.`,
	} {
		_, _, err := c.Start(t.Context(), Request{Namespace: "team-a", Role: name, Instruction: "Do it."})
		if !apierrors.IsNotFound(err) || err.Error() != want {
			t.Errorf("%s: %v", name, err)
		}
	}
	if n := tasksOf(t, c); n != 0 {
		t.Errorf("%d tasks are left", n)
	}
}

// The role may be a shared one, which only the operator can read.
func TestMistypedRole_OperatorNamespaceUnreadable(t *testing.T) {
	c := callerOf(t, true)
	task, created, err := c.Start(t.Context(), Request{Namespace: "team-a", Role: "merge-reviw", Instruction: "Do it."})
	if err != nil || !created {
		t.Fatal(created, err)
	}
	text := v1beta1.ReasonRoleNotFound + ": Create the AgentRole."
	blocked := Event{Kind: Blocked, Task: task, Text: text}
	if err := CannotStart(t.Context(), c, blocked, false); apierrors.ReasonForError(err) != ReasonCannotStart {
		t.Error(err)
	}
	if n := tasksOf(t, c); n != 1 {
		t.Error("a request that reads the run of another one has deleted it")
	}
	err = CannotStart(t.Context(), c, blocked, true)
	if !apierrors.IsNotFound(err) || !strings.HasSuffix(err.Error(), "; did you mean merge-review?") {
		t.Error(err)
	}
	if n := tasksOf(t, c); n != 0 {
		t.Errorf("%d tasks are left", n)
	}
}
