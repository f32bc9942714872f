// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package attacks

import (
	"testing"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

// allowance returns an approval that also holds for later calls of the chat whose expression matches a pattern.
func (r *testNamespace) allowance(name, person, task, pattern string) *v1beta1.AgentMessage {
	message := r.approval(name, person, task)
	message.Spec.Approval.Allow = &v1beta1.Allow{}
	if pattern != "" {
		message.Spec.Approval.Allow.Arguments = []v1beta1.ArgumentPattern{{Name: "expression", Pattern: pattern}}
	}
	return message
}

func (r *testNamespace) revocation(name, person, allowance string) *v1beta1.AgentMessage {
	return &v1beta1.AgentMessage{ObjectMeta: metav1.ObjectMeta{Namespace: r.Namespace, Name: name}, Spec: v1beta1.AgentMessageSpec{
		Chat: "chat", User: person, Revoke: &v1beta1.Revoke{Allowance: allowance},
	}}
}

// allowSum makes bob allow the calculator for the chat after its first call.
func (r *testNamespace) allowSum(pattern string) {
	r.t.Helper()
	r.requestSum(false)
	r.Expect(r.As("bob", user).Create(r.t.Context(), r.allowance("always", "bob", "chat-1", pattern))).To(Succeed())
	r.Eventually(r.messageOutcome("always")).Should(Equal(v1beta1.ReasonHandled))
	r.Eventually(r.TaskPhase("chat-1")).Should(Equal(v1beta1.TaskSuccess))
}

// calculateAgain makes the orchestrator call the calculator once more, and checks whether the call waits.
func (r *testNamespace) calculateAgain(expression string, want v1beta1.TaskPhase) {
	r.t.Helper()
	r.sendMessage(r.As("alice", user), "again", "alice", "Calculate "+expression)
	r.Eventually(r.TaskPhase("chat-2")).Should(Equal(want))
}

var _ = class(
	"allowances",
	attack{
		name:    "a misled model goes beyond an allowance",
		attempt: "bob allowed the calculator for expressions that begin with 6, and the model calculates something else",
		defence: "the pattern of the argument must match",
		run: inNamespace(func(r *testNamespace) {
			r.allowSum("6 *")
			r.calculateAgain("8 * 9", v1beta1.TaskWaiting)
		}),
		control: inNamespace(func(r *testNamespace) {
			r.allowSum("6 *")
			r.calculateAgain("6 + 1", v1beta1.TaskSuccess)
		}),
	},
	attack{
		name:    "a revoked allowance still approves",
		attempt: "carol revokes the allowance of bob, and the model calls the tool again",
		defence: "the orchestrator drops the allowance when the revoke is recorded",
		run: inNamespace(func(r *testNamespace) {
			r.allowSum("")
			r.Expect(r.As("carol", user).Create(r.t.Context(), r.revocation("revoke", "carol", "always"))).To(Succeed())
			r.Eventually(r.messageOutcome("revoke")).Should(Equal(v1beta1.ReasonHandled))
			r.calculateAgain("8 * 9", v1beta1.TaskWaiting)
		}),
		control: inNamespace(func(r *testNamespace) {
			r.allowSum("")
			r.calculateAgain("8 * 9", v1beta1.TaskSuccess)
		}),
	},
	attack{
		name:    "a standing approval replaces the second person",
		attempt: "bob, who is no requester, allows the tool for the whole chat although its role requires separation",
		defence: "with approval.denyRequesters each call needs its own decision",
		run: inNamespace(func(r *testNamespace) {
			r.requestSum(true)
			r.Expect(r.As("bob", user).Create(r.t.Context(), r.allowance("always", "bob", "chat-1", ""))).To(Succeed())
			r.Eventually(r.messageOutcome("always")).Should(Equal(v1beta1.ReasonRequesterDenied))
			r.Expect(r.TaskPhase("chat-1")()).To(Equal(v1beta1.TaskWaiting))
		}),
		control: func(t *testing.T, w *target) { decideChat(w.newNamespace(t), "bob", v1beta1.ReasonHandled) },
	},
	attack{
		name:    "a person without permission allows or revokes",
		attempt: "eve, who may only read, creates an allowance and a revoke; mallory creates them in the name of bob",
		defence: "RBAC and the messages policy, as for a decision",
		run: inNamespace(func(r *testNamespace) {
			for _, message := range []*v1beta1.AgentMessage{r.allowance("always", "eve", "chat-1", ""), r.revocation("revoke", "eve", "always")} {
				r.Expect(r.As("eve", viewer).Create(r.t.Context(), message)).To(Satisfy(apierrors.IsForbidden))
			}
			for _, message := range []*v1beta1.AgentMessage{r.allowance("always", "bob", "chat-1", ""), r.revocation("revoke", "bob", "always")} {
				r.Expect(r.As("mallory", user).Create(r.t.Context(), message)).To(MatchError(ContainSubstring("spec.user must be you")))
			}
			for _, message := range []*v1beta1.AgentMessage{r.allowance("always", "", "chat-1", ""), r.revocation("revoke", "", "always")} {
				r.Expect(r.As("mallory", user).Create(r.t.Context(), message)).To(Satisfy(apierrors.IsInvalid))
			}
		}),
		control: inNamespace(func(r *testNamespace) {
			r.Expect(r.As("bob", user).Create(r.t.Context(), r.allowance("always", "bob", "chat-1", ""))).To(Succeed())
		}),
	},
	attack{
		name:    "an allowance of one chat approves a call of another",
		attempt: "mallory allows the tool in their own chat, for a call of alice's chat",
		defence: "an allowance belongs to the chat of its message, and the call must be below that chat",
		run: inNamespace(func(r *testNamespace) {
			r.requestSum(false)
			r.Create(&v1beta1.AgentChat{ObjectMeta: metav1.ObjectMeta{Name: "other"}})
			message := r.allowance("always", "mallory", "chat-1", "")
			message.Spec.Chat = "other"
			r.Expect(r.As("mallory", user).Create(r.t.Context(), message)).To(Succeed())
			r.Eventually(r.messageOutcome("always")).Should(Equal(v1beta1.ReasonTaskNotFound))
			r.Expect(r.TaskPhase("chat-1")()).To(Equal(v1beta1.TaskWaiting))
		}),
		control: func(t *testing.T, w *target) { w.newNamespace(t).allowSum("") },
	},
)
