// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package attacks

import (
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

var _ = class(
	"speaking",
	attack{
		name:    "a user writes in another's name",
		attempt: "mallory, a user of the namespace, creates a message with spec.user alice",
		defence: "the messages policy: spec.user must be the authenticated user",
		run: inNamespace(func(r *testNamespace) {
			r.Create(&v1beta1.AgentChat{ObjectMeta: metav1.ObjectMeta{Name: "chat"}})
			err := r.As("mallory", "nestor-user").Create(r.t.Context(), r.message("forged", "alice"))
			r.Expect(err).To(MatchError(ContainSubstring("spec.user must be you")))
		}),
		control: inNamespace(func(r *testNamespace) {
			r.Create(&v1beta1.AgentChat{ObjectMeta: metav1.ObjectMeta{Name: "chat"}})
			r.Expect(r.As("alice", "nestor-user").Create(r.t.Context(), r.message("own", "alice"))).To(Succeed())
		}),
	},
)

// message returns a message of a person to the chat of the room.
func (r *testNamespace) message(name, user string) *v1beta1.AgentMessage {
	return &v1beta1.AgentMessage{
		ObjectMeta: metav1.ObjectMeta{Namespace: r.Namespace, Name: name},
		Spec:       v1beta1.AgentMessageSpec{Chat: "chat", User: user, Content: "Greet Alice"},
	}
}
