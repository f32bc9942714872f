// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package attacks

import (
	"testing"

	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

// newTrigger returns a trigger of a person that does not fire on its own.
func (r *testNamespace) newTrigger(person string) *v1beta1.AgentTrigger {
	return &v1beta1.AgentTrigger{ObjectMeta: metav1.ObjectMeta{Namespace: r.Namespace, Name: "bait"}, Spec: v1beta1.AgentTriggerSpec{
		Schedule: &v1beta1.TriggerSchedule{Cron: "0 0 1 1 *"}, User: person,
		Task: &v1beta1.TriggerTask{Role: "general", Instruction: sum},
	}}
}

func fire(person string) map[string]any {
	return map[string]any{"annotations": map[string]string{v1beta1.AnnotationFire: `{"id":"1"}`, v1beta1.AnnotationFireUser: person}}
}

// triggeredTask returns the name of the task that a trigger has created, or "".
func (r *testNamespace) triggeredTask() string {
	var tasks v1beta1.AgentTaskList
	err := r.API.List(r.t.Context(), &tasks, client.InNamespace(r.Namespace), client.MatchingLabels{v1beta1.LabelTrigger: "bait"})
	if err != nil || len(tasks.Items) == 0 {
		return ""
	}
	return tasks.Items[0].Name
}

// approveTriggered is an attack or a control in which alice writes a trigger, another person fires it, and a person
// approves the call of its task.
func approveTriggered(author, firing, approver, want string, serviceAccounts bool) func(*testing.T, *target) {
	return inNamespace(func(r *testNamespace) {
		r.Create(&v1beta1.AgentRole{ObjectMeta: metav1.ObjectMeta{Name: "general"}, Spec: v1beta1.AgentRoleSpec{
			Approval: &v1beta1.ApprovalPolicy{Mode: v1beta1.ApprovalAlways, DenyRequesters: true, AllowServiceAccounts: serviceAccounts},
		}})
		bait := r.newTrigger(author)
		r.Expect(r.As("alice", runner).Create(r.t.Context(), bait)).To(Succeed())
		r.Expect(r.patchMetadata(r.As(firing, runner), bait, fire(firing))).To(Succeed())
		r.Eventually(r.triggeredTask).ShouldNot(BeEmpty())
		name := r.triggeredTask()
		r.waitForApproval(name)
		task, err := r.Task(name)()
		r.Expect(err).NotTo(HaveOccurred())
		decision := r.approval("decision", approver, name)
		decision.Spec.Chat, decision.Spec.Task, decision.Spec.Approval.ToolCall = "", name, task.Status.Waiting.ToolCall
		r.Expect(r.As(approver, user).Create(r.t.Context(), decision)).To(Succeed())
		r.Eventually(r.messageOutcome("decision")).Should(Equal(want))
	})
}

const robot = "system:serviceaccount:ci:robot"

// fireWithout fires a trigger as a person who may update triggers and create tasks, and whatever is granted.
func fireWithout(
	t *testing.T, w *target, trigger func(*testNamespace) *v1beta1.AgentTrigger, grant func(*testNamespace),
) (*testNamespace, error) {
	t.Helper()
	r := w.newNamespace(t)
	bait := trigger(r)
	r.Create(bait)
	r.grantRules(r.Namespace, "mallory", may("patch", "agenttriggers"), may("create", "agenttasks"))
	grant(r)
	return r, r.patchMetadata(r.As("mallory", viewer), bait, fire("mallory"))
}

var _ = class(
	"triggers",
	attack{
		name:    "the author of a trigger approves its work",
		attempt: "alice writes a trigger, mallory fires it, and alice approves the call of its agent",
		defence: "the author of a trigger is a requester of what it starts",
		run:     approveTriggered("alice", "mallory", "alice", v1beta1.ReasonRequesterDenied, false),
		control: approveTriggered("alice", "mallory", "bob", string(v1beta1.MessageHandled), false),
	},
	attack{
		name:    "a person fires a trigger and approves its work",
		attempt: "mallory fires alice's trigger and approves the call of its agent",
		defence: "the person who fires a trigger is a requester too",
		run:     approveTriggered("alice", "mallory", "mallory", v1beta1.ReasonRequesterDenied, false),
		control: approveTriggered("alice", "alice", "mallory", string(v1beta1.MessageHandled), false),
	},
	attack{
		name:    "the author of a trigger omits the name",
		attempt: "alice writes a trigger without spec.user, so that the author is unknown, and bob approves the work",
		defence: "while a requester is unknown, all decisions are rejected",
		run:     approveTriggered("", "mallory", "bob", v1beta1.ReasonRequesterDenied, false),
		control: approveTriggered("alice", "mallory", "bob", string(v1beta1.MessageHandled), false),
	},
	attack{
		name:    "a service account is the second person",
		attempt: "a pipeline of alice approves what her trigger started",
		defence: "under separation a service account decides only with approval.allowServiceAccounts",
		run:     approveTriggered("alice", "alice", robot, v1beta1.ReasonRequesterDenied, false),
		control: approveTriggered("alice", "alice", robot, string(v1beta1.MessageHandled), true),
	},
	attack{
		name:    "a trigger is written in another's name",
		attempt: "mallory creates a trigger with spec.user alice, to be allowed to approve its work",
		defence: "the policy on triggers: spec.user must be the authenticated user",
		run: inNamespace(func(r *testNamespace) {
			err := r.As("mallory", runner).Create(r.t.Context(), r.newTrigger("alice"))
			r.Expect(err).To(MatchError(ContainSubstring("spec.user must be you")))
		}),
		control: inNamespace(func(r *testNamespace) {
			r.Expect(r.As("mallory", runner).Create(r.t.Context(), r.newTrigger("mallory"))).To(Succeed())
		}),
	},
	attack{
		name:    "another user seems to fire a trigger",
		attempt: "mallory fires a trigger with alice in the annotation",
		defence: "the policy on triggers: nestor.dev/fire-user must be the authenticated user",
		run: inNamespace(func(r *testNamespace) {
			bait := r.newTrigger("")
			r.Create(bait)
			err := r.patchMetadata(r.As("mallory", runner), bait, fire("alice"))
			r.Expect(err).To(MatchError(ContainSubstring("fire-user must be you")))
		}),
		control: inNamespace(func(r *testNamespace) {
			bait := r.newTrigger("")
			r.Create(bait)
			r.Expect(r.patchMetadata(r.As("mallory", runner), bait, fire("mallory"))).To(Succeed())
		}),
	},
	attack{
		name:    "a task names a person who did not fire it",
		attempt: "mallory creates a task with spec.fireUser",
		defence: "the policy on tasks: only the operator sets it",
		run: inNamespace(func(r *testNamespace) {
			task := r.toolTask("work", "mallory")
			task.Spec.FireUser = "alice"
			err := r.As("mallory", runner).Create(r.t.Context(), task)
			r.Expect(err).To(MatchError(ContainSubstring("spec.fireUser is the operator's")))
		}),
		control: inNamespace(func(r *testNamespace) {
			r.Expect(r.As("mallory", runner).Create(r.t.Context(), r.toolTask("work", "mallory"))).To(Succeed())
		}),
	},
	attack{
		name:    "a person fires a trigger that they could not create",
		attempt: "mallory may patch triggers and create tasks, and fires a trigger",
		defence: "the policy on triggers: firing needs the permissions for creating the trigger",
		run: func(t *testing.T, w *target) {
			r, err := fireWithout(t, w, yearly, func(*testNamespace) {})
			r.Expect(err).To(MatchError(ContainSubstring("you may not create agenttriggers, so you may not fire them")))
		},
		control: func(t *testing.T, w *target) {
			r, err := fireWithout(t, w, yearly, func(r *testNamespace) { r.As("mallory", runner) })
			r.Expect(err).NotTo(HaveOccurred())
		},
	},
	attack{
		name:    "a person fires a trigger whose Secret they may not read",
		attempt: "mallory fires a trigger whose task has a workspace with a git credential",
		defence: "the policy on triggers: firing needs get on the Secret",
		run: func(t *testing.T, w *target) {
			r, err := fireWithout(t, w, withGitSecret, func(r *testNamespace) { r.As("mallory", runner) })
			r.Expect(err).To(MatchError(ContainSubstring("you may not get the Secret login")))
		},
		control: func(t *testing.T, w *target) {
			r, err := fireWithout(t, w, withGitSecret, func(r *testNamespace) {
				r.As("mallory", runner)
				secrets := rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"get"}}
				r.grantRules(r.Namespace, "mallory", secrets)
			})
			r.Expect(err).NotTo(HaveOccurred())
		},
	},
	attack{
		name:    "a person fires a watch of objects that they may not see",
		attempt: "mallory fires a trigger that watches pods",
		defence: "the policy on triggers: firing needs watch on the kind",
		run: func(t *testing.T, w *target) {
			r, err := fireWithout(t, w, onPods, func(r *testNamespace) { r.As("mallory", runner) })
			r.Expect(err).To(MatchError(ContainSubstring("you may not watch pods")))
		},
		control: func(t *testing.T, w *target) {
			r, err := fireWithout(t, w, onPods, func(r *testNamespace) { r.As("mallory", "edit") })
			r.Expect(err).NotTo(HaveOccurred())
		},
	},
)

func yearly(r *testNamespace) *v1beta1.AgentTrigger { return r.newTrigger("") }

// withGitSecret returns a trigger whose task has a workspace with a git credential.
func withGitSecret(r *testNamespace) *v1beta1.AgentTrigger {
	trigger := r.newTrigger("")
	source := &v1beta1.GitSource{URL: "https://git.example.com/team/app.git", SecretName: "login"}
	trigger.Spec.Task.Workspace = &v1beta1.Workspace{Git: source}
	return trigger
}

func onPods(r *testNamespace) *v1beta1.AgentTrigger {
	trigger := r.newTrigger("")
	trigger.Spec.Schedule, trigger.Spec.Watch = nil, &v1beta1.TriggerWatch{APIVersion: "v1", Kind: "Pod", When: "false"}
	return trigger
}
