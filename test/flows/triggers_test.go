// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package flows

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/config/operator"
	"github.com/nestor-dev/nestor/internal/controller/agenttrigger"
	"github.com/nestor-dev/nestor/internal/fault"
	"github.com/nestor-dev/nestor/test/stack"
)

type triggerBuilder struct{ trigger *v1beta1.AgentTrigger }

// MakeTrigger builds a trigger of tasks whose schedule is years away: it is fired by hand.
func MakeTrigger(name, instruction string) triggerBuilder {
	return triggerBuilder{&v1beta1.AgentTrigger{ObjectMeta: named(name), Spec: v1beta1.AgentTriggerSpec{
		Schedule: &v1beta1.TriggerSchedule{Cron: "0 0 29 2 *"},
		Task:     &v1beta1.TriggerTask{Role: "general", Instruction: instruction},
	}}}
}

func (b triggerBuilder) Cron(cron string) triggerBuilder {
	b.trigger.Spec.Schedule.Cron = cron
	return b
}

func (b triggerBuilder) Policy(p v1beta1.ConcurrencyPolicy) triggerBuilder {
	b.trigger.Spec.ConcurrencyPolicy = p
	return b
}

func (b triggerBuilder) Suspended() triggerBuilder { b.trigger.Spec.Suspend = true; return b }

// Webhook makes the source a webhook, which has body and headers.
func (b triggerBuilder) Webhook(when string) triggerBuilder {
	b.trigger.Spec.Schedule = nil
	b.trigger.Spec.Webhook = &v1beta1.TriggerWebhook{SecretKeyRef: v1beta1.SecretKeyRef{Name: "hook", Key: "token"}, When: when}
	return b
}

func webhookSecret() *corev1.Secret {
	return &corev1.Secret{ObjectMeta: named("hook"), StringData: map[string]string{"token": "secret"}}
}

func (b triggerBuilder) Watch(apiVersion, kind, when string) triggerBuilder {
	b.trigger.Spec.Schedule = nil
	b.trigger.Spec.Watch = &v1beta1.TriggerWatch{APIVersion: apiVersion, Kind: kind, When: when}
	return b
}

func (b triggerBuilder) Dedup(key string) triggerBuilder { b.trigger.Spec.DedupKey = key; return b }

func (b triggerBuilder) Message(chat, content string) triggerBuilder {
	b.trigger.Spec.Task, b.trigger.Spec.Message = nil, &v1beta1.TriggerMessage{Chat: chat, Content: content}
	return b
}

func (b triggerBuilder) Obj() *v1beta1.AgentTrigger { return b.trigger }

func (r *testNamespace) trigger(name string) func(context.Context) (*v1beta1.AgentTrigger, error) {
	return func(ctx context.Context) (*v1beta1.AgentTrigger, error) {
		return fetch(ctx, r, name, &v1beta1.AgentTrigger{})
	}
}

// fire fires a trigger by hand, and waits until the operator has decided.
func (r *testNamespace) fire(ctx context.Context, name, id, more string) {
	GinkgoHelper()
	r.requestFire(ctx, name, id, more)
	r.waitForFire(ctx, name)
}

func (r *testNamespace) requestFire(ctx context.Context, name, id, more string) {
	GinkgoHelper()
	patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:%q,%q:%q}}}`, v1beta1.AnnotationFire, fmt.Sprintf(`{"id":%q%s}`, id, more), v1beta1.AnnotationFireUser, stack.Admin)
	trigger := &v1beta1.AgentTrigger{ObjectMeta: metav1.ObjectMeta{Namespace: r.namespace, Name: name}}
	Expect(r.API.Patch(ctx, trigger, client.RawPatch(types.MergePatchType, []byte(patch)))).To(Succeed())
}

func (r *testNamespace) waitForFire(ctx context.Context, name string) {
	GinkgoHelper()
	Eventually(r.trigger(name)).WithContext(ctx).Should(HaveField("Annotations", Not(HaveKey(v1beta1.AnnotationFire))))
}

// tasksOf returns the tasks of a trigger, oldest first.
func (r *testNamespace) tasksOf(name string) func(context.Context) ([]v1beta1.AgentTask, error) {
	return func(ctx context.Context) ([]v1beta1.AgentTask, error) {
		var list v1beta1.AgentTaskList
		err := r.API.List(ctx, &list, r.inNamespace(), client.MatchingLabels{v1beta1.LabelTrigger: name})
		return list.Items, err
	}
}

// triggers covers work that starts automatically.
func triggers(w *world) {
	Describe("Triggers", func() {
		It("create a task with what the firing has, and tidy up", func(ctx SpecContext) {
			r := w.newNamespace(ctx)
			r.create(ctx, webhookSecret())
			trigger := MakeTrigger("reviews", "Submit {{ body.word }}").Webhook("body.go").Obj()
			trigger.Spec.SuccessfulTasksHistoryLimit = new(int32(1))
			r.create(ctx, trigger)
			Eventually(r.trigger("reviews")).WithContext(ctx).Should(HaveStatus(ContainSubstring("True Ready")))
			r.fire(ctx, "reviews", "1", `,"body":{"go":true,"word":"hello"}`)
			Eventually(r.tasksOf("reviews")).WithContext(ctx).Should(HaveExactElements(And(HaveField("Status.Phase", v1beta1.TaskSuccess),
				HaveField("Status.Result.Summary", "hello"), HaveField("Spec.FireUser", stack.Admin), HaveField("Finalizers", BeEmpty()),
				HaveField("OwnerReferences", HaveExactElements(And(HaveField("Kind", "AgentTrigger"), HaveField("UID", trigger.UID)))))))
			first := must(ctx, r.tasksOf("reviews"))[0].Name
			Eventually(r.trigger("reviews")).WithContext(ctx).Should(And(HaveField("Status.Active", BeEmpty()), HaveField("Status.Pending", BeEmpty()),
				HaveField("Status.Firings", BeEquivalentTo(1)), HaveField("Status.LastFiredTime", Not(BeNil()))))

			r.fire(ctx, "reviews", "1", `,"body":{"go":true,"word":"again"}`)    // the same id
			r.fire(ctx, "reviews", "2", `,"body":{"go":false,"word":"quietly"}`) // the condition is false
			r.fire(ctx, "reviews", "3", `,"body":{"word":"wrong"}`)              // the condition fails
			Eventually(r.trigger("reviews")).WithContext(ctx).Should(And(HaveField("Status.Firings", BeEquivalentTo(1)), HaveField("Status.Dropped", BeEquivalentTo(1)),
				HaveField("Status.LastDrop", And(HaveField("Reason", v1beta1.DropExpressionFailed), HaveField("Message", ContainSubstring("no such key: go"))))))
			r.fire(ctx, "reviews", "4", `,"body":{"go":true,"word":"bye"}`)
			Eventually(r.tasksOf("reviews")).WithContext(ctx).Should(HaveExactElements(And(HaveField("Name", Not(Equal(first))), HaveField("Status.Phase", v1beta1.TaskSuccess))),
				"the history limit deletes the older one")
			Expect(r.API.Delete(ctx, trigger)).To(Succeed())
			Eventually(r.tasksOf("reviews")).WithContext(ctx).Should(BeEmpty(), "tasks are deleted with their trigger")
		})

		It("fire a schedule for the newest missed time", func(ctx SpecContext) {
			r := w.newNamespace(ctx)
			cron := fmt.Sprintf("%d * * * *", time.Now().UTC().Add(30*time.Minute).Minute()) // no time of it is near
			r.create(ctx, MakeTrigger("often", "Submit {{ trigger.id }}").Cron(cron).Suspended().Obj())
			Eventually(r.trigger("often")).WithContext(ctx).Should(And(HaveStatus(ContainSubstring("True Suspended")), HaveField("Status.NextScheduleTime", BeNil())))
			// As if the trigger had last been seen three hours ago, before the operator was down.
			api := r.asOperator()
			Eventually(func(ctx context.Context) error {
				trigger, err := r.trigger("often")(ctx)
				if err != nil {
					return err
				}
				since := metav1.NewTime(time.Now().Add(-3 * time.Hour))
				trigger.Status.ObservedSchedule, trigger.Status.ScheduleStartTime = cron, &since
				return api.Status().Update(ctx, trigger)
			}).WithContext(ctx).Should(Succeed())
			change(ctx, r, r.trigger("often"), func(t *v1beta1.AgentTrigger) { t.Spec.Suspend = false })
			Eventually(r.tasksOf("often")).WithContext(ctx).Should(HaveExactElements(HaveField("Status.Phase", v1beta1.TaskSuccess)))
			Eventually(r.trigger("often")).WithContext(ctx).Should(And(HaveField("Status.Firings", BeEquivalentTo(1)), HaveField("Status.Dropped", BeEquivalentTo(2)),
				HaveField("Status.LastDrop.Reason", v1beta1.DropMissed), HaveField("Status.NextScheduleTime.Time", BeTemporally(">", time.Now()))))
			last := must(ctx, r.trigger("often")).Status.LastScheduleTime
			Expect(must(ctx, r.tasksOf("often"))[0].Spec.Instruction).To(Equal(fmt.Sprintf("Submit s%d", last.Unix())))
		})

		It("drop, replace or allow firings while work is active", func(ctx SpecContext) {
			r := w.newNamespace(ctx)
			for _, policy := range []v1beta1.ConcurrencyPolicy{v1beta1.ConcurrencyAllow, v1beta1.ConcurrencyForbid, v1beta1.ConcurrencyReplace} {
				name := map[v1beta1.ConcurrencyPolicy]string{v1beta1.ConcurrencyAllow: "allow", v1beta1.ConcurrencyForbid: "forbid", v1beta1.ConcurrencyReplace: "replace"}[policy]
				r.create(ctx, MakeTrigger(name, "Ask: May I?").Policy(policy).Obj())
				r.fire(ctx, name, "1", "")
				Eventually(r.tasksOf(name)).WithContext(ctx).Should(HaveExactElements(HaveField("Status.Phase", v1beta1.TaskWaiting)))
				r.fire(ctx, name, "2", "")
			}
			waits := HaveField("Status.Phase", v1beta1.TaskWaiting)
			Eventually(r.tasksOf("allow")).WithContext(ctx).Should(ConsistOf(waits, waits))
			Eventually(r.trigger("allow")).WithContext(ctx).Should(HaveField("Status.Active", HaveLen(2)))
			Eventually(r.trigger("forbid")).WithContext(ctx).Should(And(HaveField("Status.Active", HaveLen(1)), HaveField("Status.Dropped", BeEquivalentTo(1)),
				HaveField("Status.LastDrop.Reason", v1beta1.DropActive)))
			Expect(must(ctx, r.tasksOf("forbid"))).To(HaveLen(1))
			Eventually(r.tasksOf("replace")).WithContext(ctx).Should(ConsistOf(waits, And(HaveField("Status.Phase", v1beta1.TaskCancelled),
				HaveField("Annotations", HaveKeyWithValue(v1beta1.AnnotationCancelledBy, "trigger replace, which fired again")))))
			Eventually(r.trigger("replace")).WithContext(ctx).Should(HaveField("Status.Active", HaveLen(1)))
		})

		It("fire once for a key", func(ctx SpecContext) {
			r := w.newNamespace(ctx)
			r.create(ctx, webhookSecret())
			r.create(ctx, MakeTrigger("alerts", "Submit {{ body.alert }}").Webhook("").Dedup("body.alert").Obj())
			for i, alert := range []string{"disk", "disk", "memory", "disk"} {
				r.fire(ctx, "alerts", fmt.Sprint(i), fmt.Sprintf(`,"body":{"alert":%q}`, alert))
			}
			Eventually(r.tasksOf("alerts")).WithContext(ctx).Should(ConsistOf(HaveField("Spec.Instruction", "Submit disk"), HaveField("Spec.Instruction", "Submit memory")))
			Eventually(r.trigger("alerts")).WithContext(ctx).Should(HaveField("Status.Firings", BeEquivalentTo(2)))
		})

		It("write a message to a chat", func(ctx SpecContext) {
			r := w.newNamespace(ctx)
			r.openChat(ctx)
			r.create(ctx, webhookSecret())
			trigger := MakeTrigger("greeter", "").Webhook("").Message("chat", "Greet {{ body.name }}").Obj()
			r.create(ctx, trigger)
			r.fire(ctx, "greeter", "1", `,"body":{"name":"Alice"}`)
			Eventually(r.posts).WithContext(ctx).Should(HavePost(WithText("Hello, Alice!")))
			Eventually(r.trigger("greeter")).WithContext(ctx).Should(And(HaveField("Status.Active", BeEmpty()), HaveField("Status.Pending", BeEmpty())))
			Expect(r.API.Delete(ctx, trigger)).To(Succeed())
			Consistently(func(ctx context.Context) (int, error) {
				var list v1beta1.AgentMessageList
				err := r.API.List(ctx, &list, r.inNamespace(), client.MatchingLabels{v1beta1.LabelTrigger: "greeter"})
				return len(list.Items), err
			}).WithContext(ctx).WithTimeout(time.Second).Should(Equal(1), "the message belongs to the chat")
		})

		It("fire for objects for which a condition becomes true", func(ctx SpecContext) {
			r := w.newNamespace(ctx)
			config := func(name, value string) *corev1.ConfigMap {
				return &corev1.ConfigMap{ObjectMeta: named(name), Data: map[string]string{"state": value}}
			}
			set := func(name, value string) {
				change(ctx, r, func(ctx context.Context) (*corev1.ConfigMap, error) { return fetch(ctx, r, name, &corev1.ConfigMap{}) },
					func(c *corev1.ConfigMap) { c.Data["state"] = value })
			}
			firings := func(n int) {
				GinkgoHelper()
				Eventually(r.trigger("failures")).WithContext(ctx).Should(And(HaveField("Status.Firings", BeEquivalentTo(n)), HaveStatus(ContainSubstring("True Ready"))))
			}
			r.create(ctx, config("before", "bad"), config("good", "good"))
			r.create(ctx, MakeTrigger("failures", "Submit {{ object.metadata.name }}").Watch("v1", "ConfigMap", "object.?data.?state.orValue('') == 'bad'").Obj())
			firings(1) // for the one that was there
			set("before", "bad")
			set("good", "bad")
			firings(2)
			set("good", "better")
			Eventually(r.trigger("failures")).WithContext(ctx).Should(HaveField("Status.Latched", HaveLen(1)))
			set("good", "bad")
			firings(3)
			Expect(w.Operator.Kill()).To(Succeed())
			r.create(ctx, config("meanwhile", "bad"))
			Expect(w.StartOperator(ctx)).To(Succeed())
			firings(4) // only for the new one
			Eventually(r.tasksOf("failures")).WithContext(ctx).Should(ContainElement(HaveField("Spec.Instruction", "Submit meanwhile")))
			change(ctx, r, r.trigger("failures"), func(t *v1beta1.AgentTrigger) { t.Spec.Suspend = true })
			Eventually(r.trigger("failures")).WithContext(ctx).Should(HaveStatus(ContainSubstring("True Suspended")))
			set("good", "good again")
			set("good", "bad")
			change(ctx, r, r.trigger("failures"), func(t *v1beta1.AgentTrigger) { t.Spec.Suspend = false })
			firings(4) // it was true before and is true now
		})

		It("say what they may not watch, and watch it when they may", func(ctx SpecContext) {
			r := w.newNamespace(ctx)
			r.create(ctx, MakeTrigger("daemons", "Submit {{ object.metadata.name }}").Watch("apps/v1", "DaemonSet", "true").Obj(),
				MakeTrigger("things", "Submit").Watch("example.com/v1", "Thing", "true").Obj(), MakeTrigger("nodes", "Submit").Watch("v1", "Node", "true").Obj())
			Eventually(r.trigger("daemons")).WithContext(ctx).Should(HaveStatus(And(ContainSubstring("False "+v1beta1.ReasonWatchNotAllowed),
				ContainSubstring(`add {apiGroups: ["apps"], resources: [daemonsets]} to triggers.watch`))))
			Eventually(r.trigger("things")).WithContext(ctx).Should(HaveStatus(ContainSubstring("False " + v1beta1.ReasonKindNotFound + ": The API server has no kind Thing")))
			Eventually(r.trigger("nodes")).WithContext(ctx).Should(HaveStatus(ContainSubstring("False " + v1beta1.ReasonKindNotFound + ": Objects of the kind Node have no namespace")))
			r.create(ctx, &rbacv1.Role{ObjectMeta: named("watch"), Rules: []rbacv1.PolicyRule{{APIGroups: []string{"apps"}, Resources: []string{"daemonsets"}, Verbs: []string{"list", "watch"}}}},
				&rbacv1.RoleBinding{ObjectMeta: named("watch"), RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "watch"},
					Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: operator.Namespace, Name: operator.ServiceAccount}}})
			Eventually(r.trigger("daemons")).WithContext(ctx).Should(HaveStatus(ContainSubstring("True Ready")))
		})

		It("say what is wrong with their expressions and schedules", func(ctx SpecContext) {
			r := w.newNamespace(ctx)
			r.create(ctx, MakeTrigger("expression", "Look at {{ object.metadata }}").Obj(), MakeTrigger("cron", "Submit").Cron("61 * * * *").Obj())
			Eventually(r.trigger("expression")).WithContext(ctx).Should(HaveStatus(ContainSubstring(
				"False " + v1beta1.ReasonInvalidExpression + ": spec.task.instruction: {{ object.metadata }}: line 1, column 2: undeclared reference to 'object'")))
			Eventually(r.trigger("cron")).WithContext(ctx).Should(HaveStatus(ContainSubstring("False " + v1beta1.ReasonInvalidSpec + ": spec.schedule.cron: ")))
			r.fire(ctx, "expression", "1", "") // it is not left waiting
			change(ctx, r, r.trigger("cron"), func(t *v1beta1.AgentTrigger) { t.Spec.Schedule.Cron = "0 0 1 1 *" })
			Eventually(r.trigger("cron")).WithContext(ctx).Should(And(HaveStatus(ContainSubstring("True Ready")), HaveField("Status.NextScheduleTime", Not(BeNil()))))
		})

		It("wait while the API server refuses their tasks", func(ctx SpecContext) {
			r := w.newNamespace(ctx)
			r.create(ctx, MakeTrigger("refused", "Submit done").Obj())
			makeSpace := r.setQuota(ctx, "agenttasks", 0)
			r.requestFire(ctx, "refused", "1", "")
			Eventually(r.trigger("refused")).WithContext(ctx).Should(And(HaveStatus(And(ContainSubstring("False "+v1beta1.ReasonCreationRefused), ContainSubstring("exceeded quota"))),
				HaveField("Status.Pending", HaveLen(1))))
			makeSpace(5)
			Eventually(r.tasksOf("refused")).WithContext(ctx).Should(HaveExactElements(HaveField("Status.Phase", v1beta1.TaskSuccess)))
			Eventually(r.trigger("refused")).WithContext(ctx).Should(And(HaveStatus(ContainSubstring("True Ready")), HaveField("Status.Firings", BeEquivalentTo(1))))
		})

		It("neither lose nor repeat a firing when the operator is killed between its steps", func(ctx SpecContext) {
			r := w.newNamespace(ctx)
			r.create(ctx, MakeTrigger("exact", "Submit {{ trigger.id }}").Obj())
			Eventually(r.trigger("exact")).WithContext(ctx).Should(HaveStatus(ContainSubstring("True Ready")))
			for i, point := range agenttrigger.Points() {
				By(string(point))
				Expect(w.Operator.Kill()).To(Succeed())
				Expect(w.LaunchOperator(ctx, fmt.Sprintf("%s=%s:1", fault.Variable, point))).To(Succeed())
				id := fmt.Sprintf("crash-%d", i)
				r.requestFire(ctx, "exact", id, "")
				Eventually(w.Operator.Exited()).WithContext(ctx).Should(BeClosed(), "the operator reaches %s", point)
				Expect(w.StartOperator(ctx)).To(Succeed())
				r.waitForFire(ctx, "exact")
				Eventually(r.tasksOf("exact")).WithContext(ctx).Should(ContainElement(And(HaveField("Spec.Instruction", "Submit m"+id), HaveField("Status.Phase", v1beta1.TaskSuccess))))
				for _, task := range must(ctx, r.tasksOf("exact")) {
					if task.Spec.Instruction != "Submit m"+id {
						continue
					}
					Expect(w.requestsOf(must(ctx, r.sub(task.Status.SubAgent)).UID)(ctx)).To(HaveLen(1), "the model is called once")
				}
			}
			Eventually(r.trigger("exact")).WithContext(ctx).Should(And(HaveField("Status.Firings", BeEquivalentTo(4)), HaveField("Status.Pending", BeEmpty()), HaveField("Status.Active", BeEmpty())))
		})
	})
}
