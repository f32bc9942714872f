// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package stack_test

import (
	"context"
	"os"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/test/patience"
	"github.com/nestor-dev/nestor/test/stack"
)

func TestStackSurvivesOperator(t *testing.T) {
	s, err := stack.Start(t.Context(), stack.Options{Scripts: []string{"builtin:load"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Operator.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := s.StartOperator(t.Context()); err != nil {
		t.Fatal(err)
	}
	task := &v1beta1.AgentTask{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "sum"}}
	task.Spec = v1beta1.AgentTaskSpec{Type: v1beta1.TaskTool, Tool: "calculator", Arguments: &runtime.RawExtension{Raw: []byte(`{"expression":"6*7"}`)}}
	if err := s.API.Create(t.Context(), task); err != nil {
		t.Fatal(err)
	}
	err = wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, patience.Limit(), true, func(ctx context.Context) (bool, error) {
		err := s.API.Get(ctx, client.ObjectKeyFromObject(task), task)
		return task.Status.Phase == v1beta1.TaskSuccess, err
	})
	if err != nil {
		t.Errorf("the task is %s: %v\n%s", task.Status.Phase, err, s.OperatorLog())
	}
	waitForRole(t, s)
	ended, cancel := context.WithTimeout(t.Context(), patience.Limit())
	defer cancel()
	if err := s.Operator.Terminate(ended); err != nil {
		t.Errorf("the operator ended with %v", err)
	}
	if err := s.Stop(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(s.Dir); !os.IsNotExist(err) {
		t.Errorf("the stack's directory still exists: %v", err)
	}
}

// waitForRole gives a person a role, and checks that the role works after AwaitRole returns.
func waitForRole(t *testing.T, s *stack.Stack) {
	t.Helper()
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "alice"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "nestor-viewer"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "alice"}},
	}
	hasNone, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := s.AwaitRole(hasNone, "default", "alice", "nestor-viewer"); err == nil {
		t.Error("alice has a role before it was granted")
	}
	if err := s.API.Create(t.Context(), binding); err != nil {
		t.Fatal(err)
	}
	if err := s.AwaitRole(t.Context(), "default", "alice", "nestor-viewer"); err != nil {
		t.Fatal(err)
	}
	config := rest.CopyConfig(s.Cluster.Config)
	config.Impersonate.UserName = "alice"
	api, err := client.New(config, client.Options{Scheme: s.API.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	if err := api.List(t.Context(), &v1beta1.AgentChatList{}, client.InNamespace("default")); err != nil {
		t.Errorf("alice has the role, and may not use it: %v", err)
	}
}
