// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package attacks

import (
	"testing"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/agent"
)

const user, runner, viewer = "nestor-user", "nestor-runner", "nestor-viewer"

// sum is a message that makes the orchestrator call the calculator, with this digest.
const sum = "Calculate 6 * 7"

var sumDigest = agent.CallDigest("calculator", `{"expression":"6 * 7"}`)

// createGuardedChat creates a chat whose orchestrator needs an approval for every call.
func (r *testNamespace) createGuardedChat(separation bool) {
	r.t.Helper()
	r.Create(&v1beta1.AgentRole{ObjectMeta: metav1.ObjectMeta{Name: "orchestrator"}, Spec: v1beta1.AgentRoleSpec{
		Approval: &v1beta1.ApprovalPolicy{Mode: v1beta1.ApprovalAlways, DenyRequesters: separation},
	}})
	r.Create(&v1beta1.AgentChat{ObjectMeta: metav1.ObjectMeta{Name: "chat"}})
}

// sendMessage sends a message of a person to a chat; an empty person omits the name.
func (r *testNamespace) sendMessage(api client.Client, name, person, words string) {
	r.t.Helper()
	message := &v1beta1.AgentMessage{ObjectMeta: metav1.ObjectMeta{Namespace: r.Namespace, Name: name}}
	message.Spec = v1beta1.AgentMessageSpec{Chat: "chat", User: person, Content: words}
	r.Expect(api.Create(r.t.Context(), message)).To(Succeed())
}

// waitForApproval waits until a task needs an approval.
func (r *testNamespace) waitForApproval(task string) {
	r.t.Helper()
	r.Eventually(r.TaskPhase(task)).Should(Equal(v1beta1.TaskWaiting))
}

// approval returns a decision of a person about the call of the chat's task.
func (r *testNamespace) approval(name, person, task string) *v1beta1.AgentMessage {
	return &v1beta1.AgentMessage{ObjectMeta: metav1.ObjectMeta{Namespace: r.Namespace, Name: name}, Spec: v1beta1.AgentMessageSpec{
		Chat: "chat", User: person, Approval: &v1beta1.Approval{Task: task, Decision: v1beta1.DecisionApprove},
	}}
}

// messageOutcome returns why a message was rejected, or its phase.
func (r *testNamespace) messageOutcome(name string) func() string {
	return func() string {
		var message v1beta1.AgentMessage
		if r.Get(name, &message) != nil {
			return ""
		}
		if message.Status.Phase == v1beta1.MessageRejected {
			return message.Status.Reason
		}
		return string(message.Status.Phase)
	}
}

// decide creates a decision as its author, and checks its outcome and its effect on the task.
func (r *testNamespace) decide(decision *v1beta1.AgentMessage, want string) {
	r.t.Helper()
	r.Expect(r.As(decision.Spec.User, user).Create(r.t.Context(), decision)).To(Succeed())
	r.Eventually(r.messageOutcome(decision.Name)).Should(Equal(want))
	task := r.TaskPhase(decision.Spec.Approval.Task)
	if want == v1beta1.ReasonHandled {
		r.Eventually(task).Should(Equal(v1beta1.TaskSuccess))
		return
	}
	r.Expect(task()).To(Equal(v1beta1.TaskWaiting), "the call must still wait")
}

// approveTask makes a person approve a task of the chat, and checks the result.
func (r *testNamespace) approveTask(person, task, want string) {
	r.t.Helper()
	r.decide(r.approval("decision-of-"+person, person, task), want)
}

// createStandalone creates a task whose agent needs an approval for every call by a person who is not a requester.
func (r *testNamespace) createStandalone(person string) {
	r.t.Helper()
	r.Create(&v1beta1.AgentRole{ObjectMeta: metav1.ObjectMeta{Name: "general"}, Spec: v1beta1.AgentRoleSpec{
		Approval: &v1beta1.ApprovalPolicy{Mode: v1beta1.ApprovalAlways, DenyRequesters: true},
	}})
	task := &v1beta1.AgentTask{ObjectMeta: metav1.ObjectMeta{Namespace: r.Namespace, Name: "work"}}
	task.Spec = v1beta1.AgentTaskSpec{Type: v1beta1.TaskAgent, Role: "general", Instruction: sum, User: person}
	r.Expect(r.As("alice", runner).Create(r.t.Context(), task)).To(Succeed())
	r.waitForApproval("work")
}

// approveStandalone makes a person approve the call of the standalone task.
func (r *testNamespace) approveStandalone(person, want string) {
	r.t.Helper()
	var task v1beta1.AgentTask
	r.Expect(r.Get("work", &task)).To(Succeed())
	decision := r.approval("decision-of-"+person, person, "work")
	decision.Spec.Chat, decision.Spec.Task, decision.Spec.Approval.ToolCall = "", "work", task.Status.Waiting.ToolCall
	r.decide(decision, want)
}

var _ = class(
	"approvals",
	attack{
		name:    "a requester approves the work",
		attempt: "alice asks for a tool call in a chat whose role requires separation, and approves it",
		defence: "approval.denyRequesters: the operator rejects the decision, and the call keeps waiting",
		run:     func(t *testing.T, w *target) { decideChat(w.newNamespace(t), "alice", v1beta1.ReasonRequesterDenied) },
		control: func(t *testing.T, w *target) { decideChat(w.newNamespace(t), "bob", v1beta1.ReasonHandled) },
	},
	attack{
		name:    "an earlier author approves what another person asked for",
		attempt: "alice writes first, carol asks for the call, and alice approves it",
		defence: "every author of the chat is a requester",
		run: func(t *testing.T, w *target) {
			decideAfterTwo(w.newNamespace(t), "alice", v1beta1.ReasonRequesterDenied)
		},
		control: func(t *testing.T, w *target) { decideAfterTwo(w.newNamespace(t), "bob", v1beta1.ReasonHandled) },
	},
	attack{
		name:    "a requester omits the name",
		attempt: "alice asks without spec.user, so that the requester is unknown, and then approves",
		defence: "while a requester is unknown, all decisions are rejected",
		run:     func(t *testing.T, w *target) { decideUnnamed(w.newNamespace(t), "", v1beta1.ReasonRequesterDenied) },
		control: func(t *testing.T, w *target) { decideUnnamed(w.newNamespace(t), "carol", v1beta1.ReasonHandled) },
	},
	attack{
		name:    "the creator of a standalone task approves its calls",
		attempt: "alice creates a task whose role demands separation, and approves the call of its agent",
		defence: "spec.user of the task is a requester",
		run: inNamespace(func(r *testNamespace) {
			r.createStandalone("alice")
			r.approveStandalone("alice", v1beta1.ReasonRequesterDenied)
		}),
		control: inNamespace(func(r *testNamespace) {
			r.createStandalone("alice")
			r.approveStandalone("bob", v1beta1.ReasonHandled)
		}),
	},
	attack{
		name:    "a standalone task without a user is approved",
		attempt: "alice creates the task without spec.user, and bob approves",
		defence: "while the requester is unknown, all decisions are rejected",
		run: inNamespace(func(r *testNamespace) {
			r.createStandalone("")
			r.approveStandalone("bob", v1beta1.ReasonRequesterDenied)
		}),
		control: inNamespace(func(r *testNamespace) {
			r.createStandalone("alice")
			r.approveStandalone("bob", v1beta1.ReasonHandled)
		}),
	},
	attack{
		name:    "a standalone task is created in another's name",
		attempt: "mallory creates a task with spec.user alice, to be allowed to approve its calls",
		defence: "the tasks policy: spec.user must be the authenticated user",
		run: inNamespace(func(r *testNamespace) {
			r.Expect(r.As("mallory", runner).Create(r.t.Context(), r.toolTask("forged", "alice"))).To(MatchError(ContainSubstring("spec.user must be you")))
		}),
		control: inNamespace(func(r *testNamespace) {
			r.Expect(r.As("alice", runner).Create(r.t.Context(), r.toolTask("own", "alice"))).To(Succeed())
		}),
	},
	attack{
		name:    "an approval runs other arguments than those that were shown",
		attempt: "a decision contains the digest of another call",
		defence: "the digest of the exact call",
		run: func(t *testing.T, w *target) {
			decideDigest(w.newNamespace(t), agent.CallDigest("calculator", `{"expression":"6 * 8"}`), v1beta1.ReasonDigestMismatch)
		},
		control: func(t *testing.T, w *target) { decideDigest(w.newNamespace(t), sumDigest, v1beta1.ReasonHandled) },
	},
	attack{
		name:    "a requester writes the call that they approve",
		attempt: "alice asks for a call, and approves it with arguments of her own where the role denies requesters; so does bob",
		defence: "no one edits where requesters are denied: who writes the arguments requests the call",
		run: func(t *testing.T, w *target) {
			editChat(w.newNamespace(t), v1beta1.ApprovalPolicy{DenyRequesters: true}, "alice", v1beta1.ReasonRequesterDenied)
			editChat(w.newNamespace(t), v1beta1.ApprovalPolicy{DenyRequesters: true}, "bob", v1beta1.ReasonEditNotAllowed)
		},
		control: func(t *testing.T, w *target) {
			editChat(w.newNamespace(t), v1beta1.ApprovalPolicy{Editable: true}, "bob", v1beta1.ReasonHandled)
		},
	},
	attack{
		name:    "an editor approves the arguments that they wrote",
		attempt: "bob, who requested nothing, edits a call so that a policy with denyRequesters applies, and approves what it asks then",
		defence: "who edits a call is a requester of the work from then on, in a chat too",
		run:     func(t *testing.T, w *target) { editIntoPolicy(w.newNamespace(t), "bob", v1beta1.ReasonRequesterDenied) },
		control: func(t *testing.T, w *target) { editIntoPolicy(w.newNamespace(t), "carol", v1beta1.ReasonHandled) },
	},
	attack{
		name:    "a call is edited although its role does not allow it",
		attempt: "mallory approves with other arguments",
		defence: "approval.editable of the role",
		run: func(t *testing.T, w *target) {
			editChat(w.newNamespace(t), v1beta1.ApprovalPolicy{}, "mallory", v1beta1.ReasonEditNotAllowed)
		},
		control: func(t *testing.T, w *target) {
			editChat(w.newNamespace(t), v1beta1.ApprovalPolicy{Editable: true}, "mallory", v1beta1.ReasonHandled)
		},
	},
	attack{
		name:    "an edit of a call that was never shown",
		attempt: "mallory edits without a digest, with the digest of the edit, in a denial and in an allowance",
		defence: "the CRD, and the digest of the exact call",
		run: inNamespace(func(r *testNamespace) {
			r.waitWith(v1beta1.ApprovalPolicy{Editable: true})
			for name, change := range map[string]func(*v1beta1.Approval){
				"no-digest": func(a *v1beta1.Approval) { a.ArgumentsDigest = "" },
				"denial":    func(a *v1beta1.Approval) { a.Decision = v1beta1.DecisionDeny },
				"allowance": func(a *v1beta1.Approval) { a.Allow = &v1beta1.Allow{} },
			} {
				decision := r.edit(name, "mallory")
				change(decision.Spec.Approval)
				r.Expect(r.As("mallory", user).Create(r.t.Context(), decision)).To(Satisfy(apierrors.IsInvalid), name)
			}
			stale := r.edit("stale", "mallory")
			stale.Spec.Approval.ArgumentsDigest = agent.CallDigest("calculator", editedSum)
			r.decide(stale, v1beta1.ReasonDigestMismatch)
		}),
		control: func(t *testing.T, w *target) {
			editChat(w.newNamespace(t), v1beta1.ApprovalPolicy{Editable: true}, "mallory", v1beta1.ReasonHandled)
		},
	},
	attack{
		name:    "a call is edited through its status or an annotation",
		attempt: "mallory, an admin of the namespace, writes other arguments into the status and onto the posted request, and bob approves",
		defence: "RBAC; the operator reads a call from its own record only, and the digest does not match",
		run: inNamespace(func(r *testNamespace) {
			r.waitWith(v1beta1.ApprovalPolicy{Editable: true})
			admin := r.As("mallory", "nestor-admin")
			task := &v1beta1.AgentTask{ObjectMeta: metav1.ObjectMeta{Namespace: r.Namespace, Name: "chat-1"}}
			status := client.RawPatch(types.MergePatchType, []byte(`{"status":{"waiting":{"arguments":{"expression":"6 * 9"}}}}`))
			r.Expect(admin.Status().Patch(r.t.Context(), task, status)).To(Satisfy(apierrors.IsForbidden))
			decision := r.approval("decision", "bob", "chat-1")
			decision.Annotations = map[string]string{"nestor.dev/arguments": editedSum}
			decision.Spec.Approval.ArgumentsDigest = agent.CallDigest("calculator", editedSum)
			r.decide(decision, v1beta1.ReasonDigestMismatch)
		}),
		control: func(t *testing.T, w *target) {
			editChat(w.newNamespace(t), v1beta1.ApprovalPolicy{Editable: true}, "bob", v1beta1.ReasonHandled)
		},
	},
	attack{
		name:    "a decision is made in another's name",
		attempt: "mallory approves with spec.user bob",
		defence: "the messages policy",
		run: inNamespace(func(r *testNamespace) {
			err := r.As("mallory", user).Create(r.t.Context(), r.approval("forged", "bob", "chat-1"))
			r.Expect(err).To(MatchError(ContainSubstring("spec.user must be you")))
		}),
		control: inNamespace(func(r *testNamespace) {
			r.Expect(r.As("bob", user).Create(r.t.Context(), r.approval("own", "bob", "chat-1"))).To(Succeed())
		}),
	},
	attack{
		name:    "a decision without a name",
		attempt: "mallory approves without spec.user, so that the decision is anonymous",
		defence: "the CRD: a decision needs spec.user",
		run: inNamespace(func(r *testNamespace) {
			r.Expect(r.As("mallory", user).Create(r.t.Context(), r.approval("nameless", "", "chat-1"))).To(Satisfy(apierrors.IsInvalid))
		}),
		control: inNamespace(func(r *testNamespace) {
			r.Expect(r.As("mallory", user).Create(r.t.Context(), r.approval("named", "mallory", "chat-1"))).To(Succeed())
		}),
	},
	attack{
		name:    "a call is approved through another chat",
		attempt: "mallory approves a call of the chat with a message to their own chat",
		defence: "the task must be below the chat of the message, by the UIDs of its owners",
		run: inNamespace(func(r *testNamespace) {
			r.requestSum(false)
			r.Create(&v1beta1.AgentChat{ObjectMeta: metav1.ObjectMeta{Name: "other"}})
			decision := r.approval("odd", "mallory", "chat-1")
			decision.Spec.Chat = "other"
			r.decide(decision, v1beta1.ReasonTaskNotFound)
		}),
		control: func(t *testing.T, w *target) { decideDigest(w.newNamespace(t), "", v1beta1.ReasonHandled) },
	},
	attack{
		name:    "a viewer approves",
		attempt: "a person with read access creates a decision",
		defence: "RBAC",
		run: inNamespace(func(r *testNamespace) {
			r.Expect(r.As("eve", viewer).Create(r.t.Context(), r.approval("look", "eve", "chat-1"))).To(Satisfy(apierrors.IsForbidden))
		}),
		control: inNamespace(func(r *testNamespace) {
			r.Expect(r.As("eve", user).Create(r.t.Context(), r.approval("look", "eve", "chat-1"))).To(Succeed())
		}),
	},
	attack{
		name:    "a decision is rewritten after it was made",
		attempt: "mallory, an admin of the namespace, turns a denial into an approval",
		defence: "the spec of a message is immutable, and no role has the verb",
		run: inNamespace(func(r *testNamespace) {
			decision := r.approval("kept", "bob", "chat-1")
			decision.Spec.Approval.Decision = v1beta1.DecisionDeny
			r.Expect(r.As("bob", user).Create(r.t.Context(), decision)).To(Succeed())
			change := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"approval":{"decision":"Approve"}}}`))
			r.Expect(r.As("mallory", "nestor-admin").Patch(r.t.Context(), decision, change)).To(Satisfy(apierrors.IsForbidden))
			r.Expect(r.API.Patch(r.t.Context(), decision, change)).To(Satisfy(apierrors.IsInvalid), "nor can an administrator of the cluster")
		}),
		control: inNamespace(func(r *testNamespace) {
			decision := r.approval("kept", "bob", "chat-1")
			r.Expect(r.As("bob", user).Create(r.t.Context(), decision)).To(Succeed())
			change := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"note":"changed"}}}`))
			r.Expect(r.API.Patch(r.t.Context(), decision, change)).To(Succeed(), "metadata can change")
		}),
	},
)

func (r *testNamespace) toolTask(name, person string) *v1beta1.AgentTask {
	return &v1beta1.AgentTask{ObjectMeta: metav1.ObjectMeta{Namespace: r.Namespace, Name: name}, Spec: v1beta1.AgentTaskSpec{
		Type: v1beta1.TaskTool, Tool: "calculator", User: person,
	}}
}

// requestSum creates a chat in which alice has requested a call that waits for an approval.
func (r *testNamespace) requestSum(separation bool) {
	r.t.Helper()
	r.createGuardedChat(separation)
	r.sendMessage(r.As("alice", user), "ask", "alice", sum)
	r.waitForApproval("chat-1")
}

func decideChat(r *testNamespace, person, want string) {
	r.requestSum(true)
	if person == "alice" {
		decision := r.approval("decision-of-alice", "alice", "chat-1")
		r.Expect(r.API.Create(r.t.Context(), decision)).NotTo(Succeed(), "the administrator is not alice")
	}
	r.approveTask(person, "chat-1", want)
}

func decideAfterTwo(r *testNamespace, person, want string) {
	r.createGuardedChat(true)
	r.sendMessage(r.As("alice", user), "first", "alice", "Greet Carol")
	r.Eventually(r.messageOutcome("first")).Should(Equal(string(v1beta1.MessageHandled)))
	r.sendMessage(r.As("carol", user), "ask", "carol", sum)
	r.waitForApproval("chat-1")
	r.approveTask(person, "chat-1", want)
}

func decideUnnamed(r *testNamespace, asker, want string) {
	r.createGuardedChat(true)
	api := r.As("carol", user)
	r.sendMessage(api, "ask", asker, sum)
	r.waitForApproval("chat-1")
	r.approveTask("bob", "chat-1", want)
}

func decideDigest(r *testNamespace, digest, want string) {
	r.requestSum(false)
	decision := r.approval("decision", "bob", "chat-1")
	decision.Spec.Approval.ArgumentsDigest = digest
	r.decide(decision, want)
}

// editedSum are the arguments that a person writes instead of those of sum.
const editedSum = `{"expression":"6 * 9"}`

// waitWith makes a call of the chat's orchestrator, whose role has an approval policy, wait for a decision. alice
// requests it.
func (r *testNamespace) waitWith(approval v1beta1.ApprovalPolicy) {
	r.t.Helper()
	approval.Mode = v1beta1.ApprovalAlways
	r.Create(&v1beta1.AgentRole{ObjectMeta: metav1.ObjectMeta{Name: "orchestrator"}, Spec: v1beta1.AgentRoleSpec{Approval: &approval}})
	r.Create(&v1beta1.AgentChat{ObjectMeta: metav1.ObjectMeta{Name: "chat"}})
	r.sendMessage(r.As("alice", user), "ask", "alice", sum)
	r.waitForApproval("chat-1")
}

// edit returns the approval of the call of sum with other arguments.
func (r *testNamespace) edit(name, person string) *v1beta1.AgentMessage {
	decision := r.approval(name, person, "chat-1")
	decision.Spec.Approval.ArgumentsDigest, decision.Spec.Approval.Arguments = sumDigest, editedSum
	return decision
}

func editChat(r *testNamespace, approval v1beta1.ApprovalPolicy, person, want string) {
	r.waitWith(approval)
	r.decide(r.edit("decision", person), want)
	if want != v1beta1.ReasonHandled {
		return
	}
	var task v1beta1.AgentTask
	r.Expect(r.Get("chat-1", &task)).To(Succeed())
	r.Expect(task.Status.Result.Summary).To(ContainSubstring("54"), "the tool received the arguments of "+person)
}

// editIntoPolicy makes bob edit a call so that a policy requires another approval, which a person gives.
func editIntoPolicy(r *testNamespace, person, want string) {
	p := &v1beta1.ToolPolicy{ObjectMeta: metav1.ObjectMeta{Name: "nines"}}
	p.Spec.Rules = []v1beta1.PolicyRule{{
		Name: "nines", AllowWhen: "call.tool != 'calculator' || !call.arguments.expression.contains('9')",
		Otherwise: v1beta1.OutcomeRequireApproval, DenyRequesters: true,
	}}
	r.Create(p)
	r.Eventually(r.policyReady("nines")).Should(Equal(v1beta1.ReasonReady))
	r.waitWith(v1beta1.ApprovalPolicy{Editable: true})
	r.Expect(r.As("bob", user).Create(r.t.Context(), r.edit("edit", "bob"))).To(Succeed())
	var task v1beta1.AgentTask
	asks := func() string {
		if r.Get("chat-1", &task) != nil || task.Status.Waiting == nil {
			return ""
		}
		return task.Status.Waiting.ArgumentsDigest
	}
	r.Eventually(asks).Should(Equal(agent.CallDigest("calculator", editedSum)))
	decision := r.approval("decision", person, "chat-1")
	decision.Spec.Approval.ToolCall = task.Status.Waiting.ToolCall
	r.decide(decision, want)
}
