// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package flows

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

// housekeeping covers limits, the deletion of finished tasks, changed roles, and Events.
func housekeeping(w *world) {
	Describe("Around the work", func() {
		It("at most maxParallelTasks sub-agents are active; the others wait for a slot", func(ctx SpecContext) {
			r := w.newNamespace(ctx)
			chat := MakeChat("chat").Obj()
			chat.Spec.Limits.MaxParallelTasks = 1
			r.addToolServer(ctx, MakeToolServer("box", w.tools.URL))
			r.create(ctx, chat)
			r.sendMessage(ctx, "request", `Spawn [{"task":"Wait at `+r.namespace+`"},{"task":"Wait at `+r.namespace+`"}]`)
			Eventually(r.phases("chat-1", "chat-2")).WithContext(ctx).Should(ConsistOf("Running", "Pending ParallelLimit"))
			w.tools.open(r.namespace)
			for _, name := range []string{"chat-1", "chat-2"} {
				Eventually(r.task(name)).WithContext(ctx).Should(BeIn(v1beta1.TaskSuccess))
			}
		})

		It("a sub-agent that continues after an answer waits for a slot too", func(ctx SpecContext) {
			r := w.newNamespace(ctx)
			chat := MakeChat("chat").Obj()
			chat.Spec.Limits.MaxParallelTasks = 1
			r.create(ctx, MakeToolServer("box", w.tools.URL), MakeRole("general").Allow("box__*").Obj(), chat)
			r.sendMessage(ctx, "first", "Delegate to general: Ask: Which colour?")
			r.question(ctx, "chat-1")
			r.sendMessage(ctx, "second", "Delegate to general: Wait at "+r.namespace)
			Eventually(w.tools.isWaitingAt(r.namespace)).WithContext(ctx).Should(BeTrue())
			r.sendMessage(ctx, "answer", "Tell chat-1: green")
			Eventually(r.phases("chat-1", "chat-2")).WithContext(ctx).Should(Equal([]string{"Pending ParallelLimit", "Running"}))
			Eventually(r.sub("chat-1")).WithContext(ctx).Should(BeIn(v1beta1.SubAgentPending))
			w.tools.open(r.namespace)
			for _, name := range []string{"chat-1", "chat-2"} {
				Eventually(r.task(name)).WithContext(ctx).Should(BeIn(v1beta1.TaskSuccess))
			}
		})

		It("finished tasks are deleted after their time to live, and their results stay in the conversation", func(ctx SpecContext) {
			r := w.newNamespace(ctx)
			chat, job := MakeChat("chat").Obj(), MakeTask("job", "Submit all of it").Obj()
			atOnce := int32(0)
			chat.Spec.TaskTTLSecondsAfterFinished, job.Spec.TTLSecondsAfterFinished = &atOnce, &atOnce
			r.create(ctx, chat, job)
			r.sendMessage(ctx, "request", "Delegate to general: Submit the result")
			Eventually(r.posts).WithContext(ctx).Should(HavePost(WithText("the result"), ReplyingTo("request")))
			Eventually(func(ctx context.Context) ([]v1beta1.AgentTask, error) {
				var tasks v1beta1.AgentTaskList
				err := r.API.List(ctx, &tasks, r.inNamespace())
				return tasks.Items, err
			}).WithContext(ctx).Should(BeEmpty())
		})

		It("a changed role applies to agents that start later", func(ctx SpecContext) {
			r := w.newNamespace(ctx)
			r.create(ctx, MakeToolServer("box", w.tools.URL), MakeRole("general").Allow("box__*").Obj())
			r.create(ctx, MakeTask("before", "Wait at "+r.namespace).Obj())
			Eventually(w.tools.isWaitingAt(r.namespace)).WithContext(ctx).Should(BeTrue())
			change(ctx, r, r.role("general"), func(role *v1beta1.AgentRole) { role.Spec.Tools.Allow = []string{"calculator"} })
			waitForObserved(ctx, r.role("general"))
			r.create(ctx, MakeTask("after", "Look at the sea").Obj())
			Eventually(r.task("after")).WithContext(ctx).Should(BeIn(v1beta1.TaskSuccess))
			Expect(must(ctx, r.task("after")).Status.Result.Summary).To(ContainSubstring(`There is no tool "box__look" for you`))
			w.tools.open(r.namespace)
			Eventually(r.task("before")).WithContext(ctx).Should(BeIn(v1beta1.TaskSuccess))
			Expect(w.requestsOf(r.agent(ctx, "before").UID)(ctx)).To(HaveEach(WithTransform(modelRequest.tools, ContainElement("box__wait"))))
		})

		It("Events report what a person may want to act on, in full", func(ctx SpecContext) {
			r := w.newNamespace(ctx)
			r.create(ctx, MakeTask("curious", "Ask: Which colour?").Obj(), MakeTask("broken", "Give up: no colour").Obj(), MakeTask("lost", "Work").Role("archivist").Obj())
			Eventually(r.events).WithContext(ctx).Should(ContainElements(
				"Normal AgentTask/curious WaitingForUser: Answer with an AgentMessage: Which colour?",
				ContainSubstring("Warning AgentTask/broken SubAgentError: "),
				And(HavePrefix("Warning AgentTask/lost RoleNotFound: "), ContainSubstring("archivist")),
			))
			Expect(r.events(ctx)).To(ContainElement(And(ContainSubstring("AgentTask/broken"), ContainSubstring("no colour"))))
			Expect(r.events(ctx)).NotTo(ContainElement(ContainSubstring("see status")))
		})
	})
}

// phases returns the phases of tasks, with the reason of those that have not started.
func (r *testNamespace) phases(names ...string) func(context.Context) ([]string, error) {
	return func(ctx context.Context) ([]string, error) {
		var standings []string
		for _, name := range names {
			task, err := r.task(name)(ctx)
			if err != nil {
				return nil, err
			}
			standing := string(task.Status.Phase)
			if task.Status.Phase == v1beta1.TaskPending && len(task.Status.Conditions) > 0 {
				standing += " " + task.Status.Conditions[0].Reason
			}
			standings = append(standings, standing)
		}
		return standings, nil
	}
}

// events returns the Events of the room.
func (r *testNamespace) events(ctx context.Context) ([]string, error) {
	var list eventsv1.EventList
	if err := r.API.List(ctx, &list, r.inNamespace()); err != nil {
		return nil, err
	}
	var events []string
	for _, e := range list.Items {
		events = append(events, e.Type+" "+reference(e.Regarding)+" "+e.Reason+": "+e.Note)
	}
	return events, nil
}

func reference(o corev1.ObjectReference) string { return o.Kind + "/" + o.Name }
