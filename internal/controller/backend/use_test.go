// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package backend

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/client/kube"
	"github.com/nestor-dev/nestor/internal/cluster/resolve"
	"github.com/nestor-dev/nestor/internal/ledger"
)

func TestASharedServerNeedsUse(t *testing.T) {
	own := &v1beta1.ToolServer{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "own"}}
	shared := &v1beta1.ToolServer{ObjectMeta: metav1.ObjectMeta{Namespace: "nestor-system", Name: "shared"}}
	shared.Spec.AllowedNamespaces = &v1beta1.AllowedNamespaces{From: v1beta1.NamespacesAll}
	const robot = "system:serviceaccount:ci:robot"
	for _, c := range []struct {
		name, tool, user string
		groups           []string
		starts           bool
	}{
		{"a built-in tool", "calculator", "", nil, true},
		{"a server of the namespace", "own__write", "", nil, true},
		{"a person without use", "shared__write", "mallory", nil, false},
		{"an unknown person", "shared__write", "", nil, false},
		{"a person with use", "shared__write", "alice", nil, true},
		{"a group with use", "shared__write", "bob", []string{"platform"}, true},
		{"service accounts with use", "shared__write", robot, nil, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			review := func(_ context.Context, _ client.WithWatch, object client.Object, _ ...client.CreateOption) error {
				asked := object.(*authorizationv1.LocalSubjectAccessReview)
				about := asked.Spec.ResourceAttributes
				want := authorizationv1.ResourceAttributes{
					Namespace: "nestor-system", Verb: "use", Group: "nestor.dev", Resource: "toolservers", Name: "shared",
				}
				if diff := cmp.Diff(want, *about); diff != "" || asked.Namespace != want.Namespace {
					t.Error(diff)
				}
				allowed := []string{"platform", "system:serviceaccounts:ci"}
				asked.Status.Allowed = asked.Spec.User == "alice" ||
					slices.ContainsFunc(asked.Spec.Groups, func(g string) bool { return slices.Contains(allowed, g) })
				return nil
			}
			api := fake.NewClientBuilder().WithScheme(kube.NewScheme()).WithObjects(own, shared).
				WithInterceptorFuncs(interceptor.Funcs{Create: review}).Build()
			finder := resolve.Finder{Reader: api, OperatorNamespace: "nestor-system"}
			tools := &Tools{Finder: finder, Reviews: api}
			task := &v1beta1.AgentTask{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "call"}}
			task.Spec = v1beta1.AgentTaskSpec{Type: v1beta1.TaskTool, Tool: c.tool, User: c.user, UserGroups: c.groups}
			if err := tools.CheckUse(t.Context(), task); (err == nil) != c.starts {
				t.Errorf("the task starts: %t (%v)", err == nil, err)
			}
		})
	}
}

// Deleting the namespace's own server after the start reveals a shared server of the same name.
func TestEachCallNeedsUse(t *testing.T) {
	for user, allowed := range map[string]bool{"mallory": false, "alice": true} {
		t.Run(user, func(t *testing.T) {
			own, shared := server("team", "lab", "http://127.0.0.1:1", true), server("nestor-system", "lab", "http://127.0.0.1:1", true)
			task := &v1beta1.AgentTask{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "call", UID: "u"}}
			task.Spec = v1beta1.AgentTaskSpec{Type: v1beta1.TaskTool, Tool: "lab__look", User: user}
			tools := toolsWith(t, own, shared, task)
			api := tools.Finder.Reader.(client.WithWatch)
			tools.Reviews = interceptor.NewClient(api, interceptor.Funcs{
				Create: func(_ context.Context, _ client.WithWatch, object client.Object, _ ...client.CreateOption) error {
					review := object.(*authorizationv1.LocalSubjectAccessReview)
					review.Status.Allowed = review.Spec.User == "alice"
					return nil
				},
			})
			call := func(a ledger.Agent) (refused bool) {
				_, err := tools.Set(t.Context(), a, "lab__look")
				return errors.As(err, new(*NotAllowed))
			}
			run := ledger.Agent{Kind: "AgentTask", Namespace: "team", Name: "call", UID: "u"}
			if err := tools.CheckUse(t.Context(), task); err != nil || call(run) {
				t.Fatalf("the server of the namespace is refused: %v", err)
			}
			if err := api.Delete(t.Context(), own); err != nil {
				t.Fatal(err)
			}
			if refused := call(run); refused == allowed {
				t.Errorf("the shared server is refused: %t", refused)
			}
			run.UID = "of another task with this name"
			if !call(run) {
				t.Error("the permission of another task counts")
			}
			run.Parent = "a chat, whose role decides"
			if call(run) {
				t.Error("the call of a chat is refused")
			}
		})
	}
}
