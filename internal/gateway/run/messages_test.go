// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"errors"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/client/kube"
	"github.com/nestor-dev/nestor/internal/view"
)

// A client that repeats an answer before it is handled must not receive the question again, so the message names it.
func TestRepeatedAnswerNamesItsAsk(t *testing.T) {
	c := &Caller{User: "alice", API: fake.NewClientBuilder().WithScheme(kube.NewScheme()).Build()}
	question := Ask{Namespace: "a", Root: "work", Ask: view.Ask{Task: "work-1", Call: "q1", Kind: v1beta1.WaitingQuestion}}
	call := Ask{Namespace: "a", Ask: view.Ask{Task: "work", Call: "c1", Kind: v1beta1.WaitingApproval}}
	if err := c.Answer(t.Context(), question, "Green", "one"); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Decide(t.Context(), call, Decision{Approve: true, Shown: call.Ref()}, "two"); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{"one": question.ID(), "two": call.ID()} {
		if ask, answered, err := c.HasAnswered(t.Context(), "a", "work", key); ask != want || !answered || err != nil {
			t.Errorf("the message with the key %s answers %q (%t, %v), want %q", key, ask, answered, err, want)
		}
	}
	if ask, answered, err := c.HasAnswered(t.Context(), "a", "work", "three"); ask != "" || answered || err != nil {
		t.Errorf("a message that was not sent answers %q (%t, %v)", ask, answered, err)
	}
}

// Anyone with the key can compute the name and the digest of a message.
func TestExistingMessageMustBeEqual(t *testing.T) {
	request := Message{Namespace: "a", Chat: "talk", Content: "Release it.", Key: "one"}
	alice := &Caller{User: "alice"}
	digest, err := digestOf(alice.authored(request.spec()))
	if err != nil {
		t.Fatal(err)
	}
	chat := &v1beta1.AgentChat{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "talk", UID: "now"}}
	for _, tc := range []struct {
		name   string
		change func(*v1beta1.AgentMessage)
		same   bool
	}{
		{"her own", func(*v1beta1.AgentMessage) {}, true},
		{"her own, of this chat", func(m *v1beta1.AgentMessage) { m.OwnerReferences = controlledBy("now") }, true},
		{"a colleague's", func(m *v1beta1.AgentMessage) { m.Spec.User = "mallory" }, false},
		{"other content", func(m *v1beta1.AgentMessage) { m.Spec.Content = "Delete it." }, false},
		{"of an earlier chat", func(m *v1beta1.AgentMessage) { m.OwnerReferences = controlledBy("before") }, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			there := &v1beta1.AgentMessage{
				ObjectMeta: metav1.ObjectMeta{
					Namespace: "a", Name: alice.MessageName("a", "talk", "one"),
					Annotations: map[string]string{v1beta1.AnnotationRequest: digest, v1beta1.AnnotationAnswers: "planted"},
				},
				Spec: alice.authored(request.spec()),
			}
			tc.change(there)
			c := &Caller{User: "alice", API: fake.NewClientBuilder().WithScheme(kube.NewScheme()).WithObjects(chat, there).Build()}
			_, created, err := c.Send(t.Context(), request)
			if created || tc.same != (err == nil) || err != nil && !errors.Is(err, ErrKeyReused) {
				t.Errorf("created %t, %v", created, err)
			}
			if _, answered, err := c.HasAnswered(t.Context(), "a", "talk", "one"); err != nil || answered != (there.Spec.User == "alice") {
				t.Errorf("answered %t, %v", answered, err)
			}
		})
	}
}

func controlledBy(uid types.UID) []metav1.OwnerReference {
	return []metav1.OwnerReference{{
		APIVersion: v1beta1.GroupVersion.String(), Kind: "AgentChat", Name: "talk", UID: uid, Controller: new(true),
	}}
}
