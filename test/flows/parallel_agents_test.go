// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package flows

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

// aggregate is the result of spawn_agents.
type aggregate struct {
	Results []struct {
		Agent   string `json:"agent_id"`
		Task    string
		Outcome struct {
			Success *struct{ Result string }
			Failure *struct {
				Error string
				Kind  string `json:"error_kind"`
			}
		}
	} `json:"sub_agent_results"`
}

// parallelAgents covers fan-out and fan-in (seed 004).
func parallelAgents(w *world) {
	Describe("004 Parallel agents", func() {
		It("three parallel agents, one of which fails: the results arrive together, in order", func(ctx SpecContext) {
			r := w.newNamespace(ctx)
			r.openChat(ctx)
			r.sendMessage(ctx, "request", "Review the authentication module for potential issues.")
			Eventually(r.posts).WithContext(ctx).Should(HavePost(WithText("The review of the authentication module"), ReplyingTo("request")))

			requests := must(ctx, w.requestsOf(must(ctx, r.chat).UID))
			label, report, _ := strings.Cut(requests[len(requests)-1].lastMessage(), "\n")
			Expect(label).To(Equal("[Results of task chat-1, chat-2, chat-3 (spawn_agents)]"))
			var got aggregate
			Expect(json.Unmarshal([]byte(report), &got)).To(Succeed())
			Expect(got.Results).To(HaveLen(3))
			for i, texts := range []string{"Tokens are compared in constant time", "Two functions parse tokens"} {
				Expect(got.Results[i].Agent).To(Equal(fmt.Sprintf("chat-%d", i+1)))
				Expect(got.Results[i].Outcome.Success.Result).To(ContainSubstring(texts))
				Expect(got.Results[i].Outcome.Failure).To(BeNil())
			}
			Expect(got.Results[2].Task).To(HavePrefix("Review src/auth/ from a performance perspective."))
			Expect(got.Results[2].Outcome.Success).To(BeNil())
			Expect(got.Results[2].Outcome.Failure.Kind).To(Equal("sub_agent_error"))
			Expect(got.Results[2].Outcome.Failure.Error).To(ContainSubstring("too large to analyze"))

			group := must(ctx, r.task("chat-1")).Spec.Group
			Expect(group).NotTo(BeEmpty())
			for _, name := range []string{"chat-1", "chat-2", "chat-3"} {
				Expect(must(ctx, r.task(name)).Spec.Group).To(Equal(group))
			}
			Eventually(r.chat).WithContext(ctx).Should(And(
				HaveField("Status.Tasks.Success", BeEquivalentTo(2)), HaveField("Status.Tasks.Failed", BeEquivalentTo(1)), BeIn(v1beta1.ChatIdle)))
		})

		It("a sub-agent that fans out waits without a model call, and continues once", func(ctx SpecContext) {
			r := w.newNamespace(ctx)
			r.create(ctx, MakeToolServer("box", w.tools.URL), MakeRole("reviewer").Allow("box__*").Obj())
			gate := r.namespace
			r.create(ctx, MakeTask("work", fmt.Sprintf(
				`Spawn [{"role":"reviewer","task":"Submit one"},{"role":"reviewer","task":"Give up: two"},{"role":"reviewer","task":"Wait at %s"}]`, gate)).Role("planner").Obj())
			Eventually(r.sub("work")).WithContext(ctx).Should(And(BeIn(v1beta1.SubAgentWaitingForSubAgents), HaveField("Status.Children.Finished", BeEquivalentTo(2))))
			Eventually(r.task("work")).WithContext(ctx).Should(BeIn(v1beta1.TaskRunning))
			w.tools.open(gate)
			Eventually(r.task("work")).WithContext(ctx).Should(BeIn(v1beta1.TaskSuccess))
			requests := must(ctx, w.requestsOf(r.agent(ctx, "work").UID))
			Expect(requests).To(HaveLen(2))
			var got aggregate
			Expect(json.Unmarshal([]byte(requests[1].lastMessage()), &got)).To(Succeed())
			Expect(got.Results[0].Outcome.Success.Result).To(Equal("one"))
			Expect(got.Results[1].Outcome.Failure.Error).To(Equal("two"))
			Expect(got.Results[2].Outcome.Success.Result).To(Equal("went through " + gate))
		})

		It("wait any: the first success is enough, the others are cancelled", func(ctx SpecContext) {
			r := w.newNamespace(ctx)
			r.openChat(ctx)
			r.sendMessage(ctx, "request", `Race [{"task":"Submit first"},{"task":"Hang"}]`)
			Eventually(r.posts).WithContext(ctx).Should(HavePost(WithText(`"result":"first"`), ReplyingTo("request")))
			Eventually(r.task("chat-1")).WithContext(ctx).Should(BeIn(v1beta1.TaskSuccess))
			Eventually(r.task("chat-2")).WithContext(ctx).Should(BeDone(v1beta1.TaskCancelled, string(v1beta1.ErrorCancelled)))
		})

		It("a cancel while waiting reaches every child and its model call, and is acknowledged", func(ctx SpecContext) {
			r := w.newNamespace(ctx)
			r.openChat(ctx)
			r.sendMessage(ctx, "request", `Delegate to planner: Spawn [{"role":"reviewer","task":"Hang 1"},{"role":"reviewer","task":"Hang 2"},{"role":"reviewer","task":"Hang 3"}]`)
			Eventually(r.sub("chat-1")).WithContext(ctx).Should(And(BeIn(v1beta1.SubAgentWaitingForSubAgents), HaveField("Status.Children.Pending", BeEquivalentTo(3))))
			Eventually(w.inFlight).WithContext(ctx).Should(Equal(3))
			r.create(ctx, MakeMessage("stop").Cancel("chat-1").Obj())
			Eventually(r.message("stop")).WithContext(ctx).Should(BeDone(v1beta1.MessageHandled, v1beta1.ReasonHandled))
			for _, name := range []string{"chat-1", "chat-1-1", "chat-1-2", "chat-1-3"} {
				Eventually(r.task(name)).WithContext(ctx).Should(BeDone(v1beta1.TaskCancelled, string(v1beta1.ErrorCancelled)))
				Eventually(r.sub(name)).WithContext(ctx).Should(BeDone(v1beta1.SubAgentCancelled, string(v1beta1.ErrorCancelled)))
			}
			Expect(r.agent(ctx, "chat-1").Status.Children).To(Equal(v1beta1.ChildCounts{Finished: 3}))
			Eventually(w.inFlight).WithContext(ctx).Should(BeZero())
		})

		It("the orchestrator can cancel a task that the user does not want any more", func(ctx SpecContext) {
			r := w.newNamespace(ctx)
			r.openChat(ctx)
			r.sendMessage(ctx, "request", "Delegate to general: Hang")
			Eventually(r.task("chat-1")).WithContext(ctx).Should(BeIn(v1beta1.TaskRunning))
			r.sendMessage(ctx, "stop", "Stop chat-1")
			Eventually(r.task("chat-1")).WithContext(ctx).Should(BeDone(v1beta1.TaskCancelled, string(v1beta1.ErrorCancelled)))
			Eventually(w.inFlight).WithContext(ctx).Should(BeZero())
		})

		It("a time limit that is reached while waiting stops the children too", func(ctx SpecContext) {
			r := w.newNamespace(ctx)
			work := r.reachTimeLimit(ctx, func(name string) taskBuilder {
				return MakeTask(name, `Spawn [{"role":"reviewer","task":"Hang"},{"role":"reviewer","task":"Hang"}]`).Role("planner")
			}, func(task *v1beta1.AgentTask) bool {
				_, err := r.task(task.Name + "-2")(ctx)
				return err == nil
			})
			for _, name := range []string{work + "-1", work + "-2"} {
				Eventually(r.task(name)).WithContext(ctx).Should(BeDone(v1beta1.TaskCancelled, string(v1beta1.ErrorCancelled)))
			}
			Eventually(w.inFlight).WithContext(ctx).Should(BeZero())
		})

		It("submit_error is a failure with its own kind", func(ctx SpecContext) {
			r := w.newNamespace(ctx)
			r.openChat(ctx)
			r.sendMessage(ctx, "request", "Delegate to general: Give up: the door is locked")
			Eventually(r.task("chat-1")).WithContext(ctx).Should(BeDone(v1beta1.TaskFailed, string(v1beta1.ErrorSubAgent), "the door is locked"))
			Eventually(r.posts).WithContext(ctx).Should(HavePost(WithText(`"error_kind":"sub_agent_error"`), ReplyingTo("request")))
		})

		It("sub-agents that may not delegate have no tool for it, and get an error when they try", func(ctx SpecContext) {
			r := w.newNamespace(ctx)
			r.create(ctx, MakeChat("chat").MaxDepth(1).Obj())
			r.sendMessage(ctx, "request", `Spawn [{"role":"tester","task":"Spawn although you may not"},{"role":"planner","task":"Spawn although you may not"}]`)
			Eventually(r.task("chat-1")).WithContext(ctx).Should(BeIn(v1beta1.TaskSuccess))
			Eventually(r.task("chat-2")).WithContext(ctx).Should(BeIn(v1beta1.TaskSuccess))
			for name, why := range map[string]string{"chat-1": "the role", "chat-2": "the depth"} {
				requests := must(ctx, w.requestsOf(r.agent(ctx, name).UID))
				Expect(requests[0].tools()).To(ContainElements("submit_result", "submit_error", "ask_user"))
				Expect(requests[0].tools()).NotTo(ContainElement(BeElementOf("spawn_agents", "delegate_to_agent", "reply_to_agent", "cancel_task")), "forbidden by "+why)
				Expect(requests[1].lastMessage()).To(ContainSubstring(`There is no tool "spawn_agents" for you`))
			}
			var tasks v1beta1.AgentTaskList
			Expect(w.API.List(ctx, &tasks, r.inNamespace())).To(Succeed())
			Expect(tasks.Items).To(HaveLen(2))
		})
	})
}

// reachTimeLimit runs a task to its time limit, and returns its name. On a busy machine it may have done too little by then: the next one has
// more time.
func (r *testNamespace) reachTimeLimit(ctx context.Context, build func(name string) taskBuilder, didEnough func(*v1beta1.AgentTask) bool) string {
	GinkgoHelper()
	for seconds := int32(2); ; seconds *= 2 {
		name := fmt.Sprintf("work-%d", seconds)
		r.create(ctx, build(name).MaxSeconds(seconds).Obj())
		Eventually(r.task(name)).WithContext(ctx).Should(BeDone(v1beta1.TaskFailed, string(v1beta1.ErrorTimedOut), fmt.Sprintf("time limit of %d seconds", seconds)))
		if didEnough(must(ctx, r.task(name))) || seconds > 30 {
			return name
		}
	}
}
