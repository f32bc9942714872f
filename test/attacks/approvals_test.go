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

	"github.com/nestor-dev/nestor/api/v1alpha1"
	"github.com/nestor-dev/nestor/internal/agent"
)

const user, runner, viewer = "nestor-user", "nestor-runner", "nestor-viewer"

// sum is a message that makes the orchestrator call the calculator, with this digest.
const sum = "Calculate 6 * 7"

var sumDigest = agent.CallDigest("calculator", `{"expression":"6 * 7"}`)

// guarded creates a chat whose orchestrator needs an approval for every call.
func (r *room) guarded(separation bool) {
	r.t.Helper()
	r.create(&v1alpha1.AgentRole{ObjectMeta: metav1.ObjectMeta{Name: "orchestrator"}, Spec: v1alpha1.AgentRoleSpec{
		Approval: &v1alpha1.ApprovalPolicy{Mode: v1alpha1.ApprovalAlways, Separation: separation},
	}})
	r.create(&v1alpha1.AgentChat{ObjectMeta: metav1.ObjectMeta{Name: "chat"}})
}

// tellsChat sends a message of a person to a chat; an empty person omits the name.
func (r *room) tellsChat(api client.Client, name, person, words string) {
	r.t.Helper()
	message := &v1alpha1.AgentMessage{ObjectMeta: metav1.ObjectMeta{Namespace: r.namespace, Name: name}}
	message.Spec = v1alpha1.AgentMessageSpec{Chat: "chat", User: person, Content: words}
	r.Expect(api.Create(r.t.Context(), message)).To(Succeed())
}

// awaitsApproval waits until a task needs an approval.
func (r *room) awaitsApproval(task string) {
	r.t.Helper()
	r.Eventually(r.phase(task)).Should(Equal(v1alpha1.TaskWaiting))
}

// phase returns the phase of a task.
func (r *room) phase(name string) func() v1alpha1.TaskPhase {
	return func() v1alpha1.TaskPhase {
		var task v1alpha1.AgentTask
		if r.get(name, &task) != nil {
			return ""
		}
		return task.Status.Phase
	}
}

// approval returns a decision of a person about the call of a task of the chat.
func (r *room) approval(name, person, task string) *v1alpha1.AgentMessage {
	return &v1alpha1.AgentMessage{ObjectMeta: metav1.ObjectMeta{Namespace: r.namespace, Name: name}, Spec: v1alpha1.AgentMessageSpec{
		Chat: "chat", User: person, Approval: &v1alpha1.Approval{Task: task, Decision: v1alpha1.DecisionApprove},
	}}
}

// becameOf returns why a message was rejected, or its phase.
func (r *room) becameOf(name string) func() string {
	return func() string {
		var message v1alpha1.AgentMessage
		if r.get(name, &message) != nil {
			return ""
		}
		if message.Status.Phase == v1alpha1.MessageRejected {
			return message.Status.Reason
		}
		return string(message.Status.Phase)
	}
}

// decides makes a person approve a task of the chat, and checks the result.
func (r *room) decides(person, task, want string) {
	r.t.Helper()
	decision := r.approval("decision-of-"+person, person, task)
	r.Expect(r.as(person, user).Create(r.t.Context(), decision)).To(Succeed())
	r.Eventually(r.becameOf(decision.Name)).Should(Equal(want))
	if want == v1alpha1.ReasonHandled {
		r.Eventually(r.phase(task)).Should(Equal(v1alpha1.TaskSuccess))
		return
	}
	r.Expect(r.phase(task)()).To(Equal(v1alpha1.TaskWaiting), "the call must still wait")
}

// standalone creates a task whose agent needs an approval for every call by a person who is not a requester.
func (r *room) standalone(person string) {
	r.t.Helper()
	r.create(&v1alpha1.AgentRole{ObjectMeta: metav1.ObjectMeta{Name: "general"}, Spec: v1alpha1.AgentRoleSpec{
		Approval: &v1alpha1.ApprovalPolicy{Mode: v1alpha1.ApprovalAlways, Separation: true},
	}})
	task := &v1alpha1.AgentTask{ObjectMeta: metav1.ObjectMeta{Namespace: r.namespace, Name: "work"}}
	task.Spec = v1alpha1.AgentTaskSpec{Type: v1alpha1.TaskAgent, Role: "general", Instruction: sum, User: person}
	r.Expect(r.as("alice", runner).Create(r.t.Context(), task)).To(Succeed())
	r.awaitsApproval("work")
}

// decidesWork makes a person approve the call of the standalone task.
func (r *room) decidesWork(person, want string) {
	r.t.Helper()
	var task v1alpha1.AgentTask
	r.Expect(r.get("work", &task)).To(Succeed())
	decision := r.approval("decision-of-"+person, person, "work")
	decision.Spec.Chat, decision.Spec.Task, decision.Spec.Approval.ToolCall = "", "work", task.Status.Waiting.ToolCall
	r.Expect(r.as(person, user).Create(r.t.Context(), decision)).To(Succeed())
	r.Eventually(r.becameOf(decision.Name)).Should(Equal(want))
	if want == v1alpha1.ReasonHandled {
		r.Eventually(r.phase("work")).Should(Equal(v1alpha1.TaskSuccess))
		return
	}
	r.Expect(r.phase("work")()).To(Equal(v1alpha1.TaskWaiting), "the call must still wait")
}

var _ = class(
	"approvals",
	attack{
		name:     "a requester approves the work",
		attempts: "alice asks for a tool call in a chat whose role requires separation, and approves it",
		stops:    "approval.separation: the operator rejects the decision, and the call keeps waiting", everyLedger: true,
		run:     func(t *testing.T, w *world) { decideChat(w.room(t), "alice", v1alpha1.ReasonSeparation) },
		control: func(t *testing.T, w *world) { decideChat(w.room(t), "bob", v1alpha1.ReasonHandled) },
	},
	attack{
		name:     "an earlier author approves what another person asked for",
		attempts: "alice writes first, carol asks for the call, and alice approves it",
		stops:    "every author of the chat is a requester",
		run:      func(t *testing.T, w *world) { decideAfterTwo(w.room(t), "alice", v1alpha1.ReasonSeparation) },
		control:  func(t *testing.T, w *world) { decideAfterTwo(w.room(t), "bob", v1alpha1.ReasonHandled) },
	},
	attack{
		name:     "a requester omits the name",
		attempts: "alice asks without spec.user, so that the requester is unknown, and then approves",
		stops:    "while a requester is unknown, all decisions are rejected",
		run:      func(t *testing.T, w *world) { decideUnnamed(w.room(t), "", v1alpha1.ReasonSeparation) },
		control:  func(t *testing.T, w *world) { decideUnnamed(w.room(t), "carol", v1alpha1.ReasonHandled) },
	},
	attack{
		name:     "the creator of a standalone task approves its calls",
		attempts: "alice creates a task whose role demands separation, and approves the call of its agent",
		stops:    "spec.user of the task is a requester",
		run: func(t *testing.T, w *world) {
			r := w.room(t)
			r.standalone("alice")
			r.decidesWork("alice", v1alpha1.ReasonSeparation)
		},
		control: func(t *testing.T, w *world) {
			r := w.room(t)
			r.standalone("alice")
			r.decidesWork("bob", v1alpha1.ReasonHandled)
		},
	},
	attack{
		name:     "a standalone task without a user is approved",
		attempts: "alice creates the task without spec.user, and bob approves",
		stops:    "while the requester is unknown, all decisions are rejected",
		run: func(t *testing.T, w *world) {
			r := w.room(t)
			r.standalone("")
			r.decidesWork("bob", v1alpha1.ReasonSeparation)
		},
		control: func(t *testing.T, w *world) {
			r := w.room(t)
			r.standalone("alice")
			r.decidesWork("bob", v1alpha1.ReasonHandled)
		},
	},
	attack{
		name:     "a standalone task is created in another's name",
		attempts: "mallory creates a task with spec.user alice, to be allowed to approve its calls",
		stops:    "the tasks policy: spec.user must be the authenticated user",
		run: func(t *testing.T, w *world) {
			r := w.room(t)
			r.Expect(r.as("mallory", runner).Create(t.Context(), r.toolTask("forged", "alice"))).To(MatchError(ContainSubstring("spec.user must be you")))
		},
		control: func(t *testing.T, w *world) {
			r := w.room(t)
			r.Expect(r.as("alice", runner).Create(t.Context(), r.toolTask("own", "alice"))).To(Succeed())
		},
	},
	attack{
		name:     "an approval runs other arguments than those that were shown",
		attempts: "a decision contains the digest of another call",
		stops:    "the digest of the exact call", everyLedger: true,
		run: func(t *testing.T, w *world) {
			decideDigest(w.room(t), agent.CallDigest("calculator", `{"expression":"6 * 8"}`), v1alpha1.ReasonDigestMismatch)
		},
		control: func(t *testing.T, w *world) { decideDigest(w.room(t), sumDigest, v1alpha1.ReasonHandled) },
	},
	attack{
		name:     "a decision is made in another's name",
		attempts: "mallory approves with spec.user bob",
		stops:    "the messages policy",
		run: func(t *testing.T, w *world) {
			r := w.room(t)
			err := r.as("mallory", user).Create(t.Context(), r.approval("forged", "bob", "chat-1"))
			r.Expect(err).To(MatchError(ContainSubstring("spec.user must be you")))
		},
		control: func(t *testing.T, w *world) {
			r := w.room(t)
			r.Expect(r.as("bob", user).Create(t.Context(), r.approval("own", "bob", "chat-1"))).To(Succeed())
		},
	},
	attack{
		name:     "a decision without a name",
		attempts: "mallory approves without spec.user, so that the decision is anonymous",
		stops:    "the CRD: a decision needs spec.user",
		run: func(t *testing.T, w *world) {
			r := w.room(t)
			r.Expect(r.as("mallory", user).Create(t.Context(), r.approval("nameless", "", "chat-1"))).To(Satisfy(apierrors.IsInvalid))
		},
		control: func(t *testing.T, w *world) {
			r := w.room(t)
			r.Expect(r.as("mallory", user).Create(t.Context(), r.approval("named", "mallory", "chat-1"))).To(Succeed())
		},
	},
	attack{
		name:     "a call is approved through another chat",
		attempts: "mallory approves a call of the chat with a message to their own chat",
		stops:    "the task must be below the chat of the message, by the UIDs of its owners",
		run: func(t *testing.T, w *world) {
			r := w.room(t)
			r.guarded(false)
			r.tellsChat(r.as("alice", user), "ask", "alice", sum)
			r.awaitsApproval("chat-1")
			r.create(&v1alpha1.AgentChat{ObjectMeta: metav1.ObjectMeta{Name: "other"}})
			decision := r.approval("odd", "mallory", "chat-1")
			decision.Spec.Chat = "other"
			r.Expect(r.as("mallory", user).Create(t.Context(), decision)).To(Succeed())
			r.Eventually(r.becameOf("odd")).Should(Equal(v1alpha1.ReasonTaskNotFound))
			r.Expect(r.phase("chat-1")()).To(Equal(v1alpha1.TaskWaiting))
		},
		control: func(t *testing.T, w *world) { decideDigest(w.room(t), "", v1alpha1.ReasonHandled) },
	},
	attack{
		name:     "a viewer approves",
		attempts: "a person with read access creates a decision",
		stops:    "RBAC",
		run: func(t *testing.T, w *world) {
			r := w.room(t)
			r.Expect(r.as("eve", viewer).Create(t.Context(), r.approval("look", "eve", "chat-1"))).To(Satisfy(apierrors.IsForbidden))
		},
		control: func(t *testing.T, w *world) {
			r := w.room(t)
			r.Expect(r.as("eve", user).Create(t.Context(), r.approval("look", "eve", "chat-1"))).To(Succeed())
		},
	},
	attack{
		name:     "a decision is rewritten after it was made",
		attempts: "mallory, an admin of the namespace, turns a denial into an approval",
		stops:    "the spec of a message is immutable, and no role has the verb",
		run: func(t *testing.T, w *world) {
			r := w.room(t)
			decision := r.approval("kept", "bob", "chat-1")
			decision.Spec.Approval.Decision = v1alpha1.DecisionDeny
			r.Expect(r.as("bob", user).Create(t.Context(), decision)).To(Succeed())
			change := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"approval":{"decision":"Approve"}}}`))
			r.Expect(r.as("mallory", "nestor-admin").Patch(t.Context(), decision, change)).To(Satisfy(apierrors.IsForbidden))
			r.Expect(r.API.Patch(t.Context(), decision, change)).To(Satisfy(apierrors.IsInvalid), "nor can an administrator of the cluster")
		},
		control: func(t *testing.T, w *world) {
			r := w.room(t)
			decision := r.approval("kept", "bob", "chat-1")
			r.Expect(r.as("bob", user).Create(t.Context(), decision)).To(Succeed())
			change := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"note":"changed"}}}`))
			r.Expect(r.API.Patch(t.Context(), decision, change)).To(Succeed(), "metadata can change")
		},
	},
)

// toolTask returns a standalone task of type Tool for a person.
func (r *room) toolTask(name, person string) *v1alpha1.AgentTask {
	return &v1alpha1.AgentTask{ObjectMeta: metav1.ObjectMeta{Namespace: r.namespace, Name: name}, Spec: v1alpha1.AgentTaskSpec{
		Type: v1alpha1.TaskTool, Tool: "calculator", User: person,
	}}
}

func decideChat(r *room, person, want string) {
	r.guarded(true)
	r.tellsChat(r.as("alice", user), "ask", "alice", sum)
	r.awaitsApproval("chat-1")
	if person == "alice" {
		decision := r.approval("decision-of-alice", "alice", "chat-1")
		r.Expect(r.API.Create(r.t.Context(), decision)).NotTo(Succeed(), "the administrator is not alice")
	}
	r.decides(person, "chat-1", want)
}

func decideAfterTwo(r *room, person, want string) {
	r.guarded(true)
	r.tellsChat(r.as("alice", user), "first", "alice", "Greet Carol")
	r.Eventually(r.becameOf("first")).Should(Equal(string(v1alpha1.MessageHandled)))
	r.tellsChat(r.as("carol", user), "ask", "carol", sum)
	r.awaitsApproval("chat-1")
	r.decides(person, "chat-1", want)
}

func decideUnnamed(r *room, asker, want string) {
	r.guarded(true)
	api := r.as("carol", user)
	r.tellsChat(api, "ask", asker, sum)
	r.awaitsApproval("chat-1")
	r.decides("bob", "chat-1", want)
}

func decideDigest(r *room, digest, want string) {
	r.guarded(false)
	r.tellsChat(r.as("alice", user), "ask", "alice", sum)
	r.awaitsApproval("chat-1")
	decision := r.approval("decision", "bob", "chat-1")
	decision.Spec.Approval.ArgumentsDigest = digest
	r.Expect(r.as("bob", user).Create(r.t.Context(), decision)).To(Succeed())
	r.Eventually(r.becameOf("decision")).Should(Equal(want))
	if want == v1alpha1.ReasonHandled {
		r.Eventually(r.phase("chat-1")).Should(Equal(v1alpha1.TaskSuccess))
	} else {
		r.Expect(r.phase("chat-1")()).To(Equal(v1alpha1.TaskWaiting))
	}
}
