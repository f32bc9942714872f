// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agentmessage

import (
	"context"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

// The cache may still have a chat that was deleted and created again. If the old chat adopted a message to the new one,
// the garbage collector would delete the message with the old chat.
func TestDeletedChatAdoptsNoMessage(t *testing.T) {
	chat := &v1beta1.AgentChat{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "chat", UID: "new"}}
	message := &v1beta1.AgentMessage{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "hello", UID: "m"},
		Spec: v1beta1.AgentMessageSpec{Chat: "chat", Role: v1beta1.RoleUser, Content: "hello"}}
	r, _ := reconcilerWith(t, chat, message)
	recorded := false
	api := r.Client.(client.WithWatch)
	r.Client = interceptor.NewClient(api, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, name client.ObjectKey, object client.Object, options ...client.GetOption) error {
			err := c.Get(ctx, name, object, options...)
			if _, isChat := object.(*v1beta1.AgentChat); isChat && !recorded {
				object.SetUID("old")
			}
			return err
		},
	})
	request := ctrl.Request{NamespacedName: client.ObjectKeyFromObject(message)}
	owner := func() *metav1.OwnerReference {
		t.Helper()
		var found v1beta1.AgentMessage
		if err := api.Get(t.Context(), request.NamespacedName, &found); err != nil {
			t.Fatal(err)
		}
		return metav1.GetControllerOf(&found)
	}

	if result, err := r.Reconcile(t.Context(), request); err != nil || result.RequeueAfter == 0 {
		t.Errorf("the message is not requeued: %v (%v)", result, err)
	}
	if ref := owner(); ref != nil {
		t.Fatalf("the message belongs to the chat %s, which was deleted", ref.UID)
	}
	recorded = true
	if _, err := r.Reconcile(t.Context(), request); err != nil {
		t.Fatal(err)
	}
	if ref := owner(); ref == nil || ref.UID != chat.UID {
		t.Errorf("the message belongs to %v", ref)
	}
}
