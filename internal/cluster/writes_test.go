// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/client/kube"
)

// The watch event of a write may arrive before the response, and nothing reads the object again.
func TestExpiredWritesAreRemoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := NewClient(nil)
		for _, name := range []string{"one", "two", "three"} {
			c.remember(&v1beta1.AgentTask{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: name}}, false)
			time.Sleep(2 * writeTTL) //nolint:forbidigo // fake time of synctest
		}
		for kind, writes := range c.written {
			if len(writes) != 1 {
				t.Errorf("%d writes of %s are remembered, want the last one", len(writes), kind)
			}
		}
	})
}

// The response to a write may arrive after the watch events of the write and of the object's deletion.
func TestLateWriteOfRemovedObject(t *testing.T) {
	c := NewClient(fake.NewClientBuilder().WithScheme(kube.NewScheme()).Build())
	object := func(uid types.UID) *v1beta1.AgentTask {
		return &v1beta1.AgentTask{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "one", UID: uid, ResourceVersion: "7"}}
	}
	listed := func() int {
		t.Helper()
		var tasks v1beta1.AgentTaskList
		if err := c.List(t.Context(), &tasks); err != nil {
			t.Fatal(err)
		}
		return len(tasks.Items)
	}
	c.forget(object("first"))
	c.remember(object("first"), false)
	if err := c.Get(t.Context(), types.NamespacedName{Namespace: "a", Name: "one"}, &v1beta1.AgentTask{}); !apierrors.IsNotFound(err) {
		t.Errorf("Get returns %v, want not found", err)
	}
	if got := listed(); got != 0 {
		t.Errorf("%d tasks, want none: the task was deleted", got)
	}
	c.remember(object("second"), false)
	if got := listed(); got != 1 {
		t.Errorf("%d tasks, want the new one with the same name", got)
	}
	c.forget(object("first"))
	if got := listed(); got != 1 {
		t.Errorf("%d tasks, want the new one after the late event of the deletion", got)
	}
}

// server records the object of a status update, and responds with the stored one.
type server struct {
	client.SubResourceWriter
	sent   client.Object
	stored v1beta1.SubAgent
}

func (s *server) Update(_ context.Context, object client.Object, _ ...client.SubResourceUpdateOption) error {
	s.sent, _ = object.DeepCopyObject().(client.Object)
	sub, _ := object.(*v1beta1.SubAgent)
	s.stored.Status = sub.Status
	s.stored.ResourceVersion = "8"
	s.stored.DeepCopyInto(sub)
	return nil
}

func TestStatusUpdateSendsOnlyStatus(t *testing.T) {
	sub := v1beta1.SubAgent{ObjectMeta: metav1.ObjectMeta{
		Namespace: "a", Name: "one", UID: "u", ResourceVersion: "7", Labels: map[string]string{v1beta1.LabelRole: "worker"},
	}}
	sub.Spec.Instruction = "Work."
	server := &server{stored: *sub.DeepCopy()}
	sub.Status.Phase = v1beta1.SubAgentCompleted
	want := v1beta1.SubAgent{Status: sub.Status, ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "one", UID: "u", ResourceVersion: "7"}}
	writer := statusWriter{SubResourceWriter: server, client: NewClient(nil)}
	if err := writer.Update(t.Context(), &sub); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(client.Object(&want), server.sent); diff != "" {
		t.Errorf("the request differs (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(server.stored, sub); diff != "" {
		t.Errorf("the object is not that of the response (-want +got):\n%s", diff)
	}
}
