// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package flows

import (
	"context"
	"encoding/json"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

// roleDelegation covers the hierarchy of roles, and the limits (seed 002).
func roleDelegation(w *world) {
	Describe("002 Role delegation", func() {
		It("main > coder > tester: structured results are reported up, and each agent knows its place", func(ctx SpecContext) {
			r := w.newNamespace(ctx)
			r.openChat(ctx)
			r.sendMessage(ctx, "request", "Add authentication to the API.")
			Eventually(r.posts).WithContext(ctx).Should(HavePost(WithText("Authentication is implemented"), ReplyingTo("request")))

			coder, tester := r.agent(ctx, "chat-1"), r.agent(ctx, "chat-1-1")
			Expect(tester.Spec.Parent).To(Equal("chat-1"))
			Expect(tester.Spec.Depth).To(BeEquivalentTo(2))
			Expect(tester.Labels).To(HaveKeyWithValue(v1beta1.LabelParent, "chat-1"))
			Expect(metav1.IsControlledBy(must(ctx, r.task("chat-1-1")), coder)).To(BeTrue())

			By("telling the coder the tester's result in the form of the design")
			requests := must(ctx, w.requestsOf(coder.UID))
			var result struct {
				Status     string
				Summary    string
				Run        int  `json:"tests_run"`
				Passed     int  `json:"tests_passed"`
				Iterations int  `json:"iteration_count"`
				Duration   *int `json:"duration_ms"`
			}
			Expect(json.Unmarshal([]byte(requests[len(requests)-1].lastMessage()), &result)).To(Succeed())
			Expect(result.Status).To(Equal("completed"))
			Expect(result.Summary).To(Equal("Wrote five unit tests, all passing."))
			Expect(result.Run).To(Equal(5))
			Expect(result.Passed).To(Equal(5))
			Expect(result.Iterations).To(Equal(2))
			Expect(result.Duration).NotTo(BeNil())

			By("showing the coder's result on its task")
			Eventually(r.task("chat-1")).WithContext(ctx).Should(BeIn(v1beta1.TaskSuccess))
			task := must(ctx, r.task("chat-1"))
			Expect(task.Status.Result.FilesModified).To(ConsistOf("main.go"))
			Expect(task.Status.Result.FilesCreated).To(ConsistOf("jwt_middleware.go"))
			Expect(*task.Status.Result.TestsRun).To(BeEquivalentTo(5))
			Expect(task.Status.Result.Suggestions).To(ConsistOf("Limit the rate of the renewal endpoint."))

			By("telling the tester where it stands")
			system := must(ctx, w.requestsOf(tester.UID))[0].Body.Messages[0].Content
			Expect(system).To(And(ContainSubstring("**tester** sub-agent (depth 2/2)"), ContainSubstring("Parent agent: Coder"),
				ContainSubstring("You cannot delegate"), ContainSubstring("Max iterations: 20")))
		})

		It("every role has its own model", func(ctx SpecContext) {
			r := w.newNamespace(ctx)
			r.create(ctx, MakeRole("coder").Model("qwen/qwen3-coder-30b").Obj(), MakeRole("tester").Model("deepseek-chat").Obj())
			r.openChat(ctx)
			r.sendMessage(ctx, "request", "Delegate to coder: Delegate to tester: Submit a test")
			Eventually(r.task("chat-1")).WithContext(ctx).Should(BeIn(v1beta1.TaskSuccess))
			for name, model := range map[string]string{"chat-1": "qwen/qwen3-coder-30b", "chat-1-1": "deepseek-chat"} {
				Expect(must(ctx, w.requestsOf(r.agent(ctx, name).UID))).To(HaveEach(HaveField("Model", model)))
			}
			Expect(must(ctx, w.requestsOf(must(ctx, r.chat).UID))).To(HaveEach(HaveField("Model", "scripted")))
		})

		DescribeTable("a reached limit is never reported as success",
			func(ctx SpecContext, task taskBuilder, kind v1beta1.ErrorKind, reason string, prepare ...func(context.Context, *testNamespace)) {
				r := w.newNamespace(ctx)
				for _, p := range prepare {
					p(ctx, r)
				}
				r.create(ctx, task.Obj())
				Eventually(r.task("work")).WithContext(ctx).Should(BeDone(v1beta1.TaskFailed, string(kind), reason))
				Eventually(r.sub("work")).WithContext(ctx).Should(BeDone(v1beta1.SubAgentFailed, string(kind), reason))
				Expect(r.agent(ctx, "work").Status.BailoutReason).To(ContainSubstring(reason))
			},
			Entry("iterations", MakeTask("work", "Ponder").MaxIterations(2), v1beta1.ErrorIterationLimit, "limit of 2 iterations"),
			Entry("time, at the model", MakeTask("work", "Hang").MaxSeconds(1), v1beta1.ErrorTimedOut, "time limit of 1 seconds"),
			Entry("a loop", MakeTask("work", "Repeat"), v1beta1.ErrorLoopDetected, "called calculator 5 times"),
			Entry("tokens", MakeTask("work", "Ponder"), v1beta1.ErrorBudgetExhausted, "of 12000 tokens", func(ctx context.Context, r *testNamespace) {
				r.create(ctx, MakeRole("general").MaxTokens(12000).Obj())
			}),
			Entry("money", MakeTask("work", "Ponder").Provider("priced"), v1beta1.ErrorBudgetExhausted, "of $0.01", func(ctx context.Context, r *testNamespace) {
				r.create(ctx, MakeRole("general").MaxCost(12000).Obj(), MakeProvider("priced", w.ModelURL).Price("scripted", 1_000_000).Obj())
			}),
		)

		DescribeTable("a chat with a cost limit counts in one currency, and a sub-agent cannot spend another or an unknown one",
			func(ctx SpecContext, currency string, limit int64, phase v1beta1.TaskPhase, reason string) {
				r := w.newEmptyNamespace(ctx)
				other := MakeProvider("other", w.ModelURL)
				if currency != "" {
					other = other.Price("scripted", 1).Currency(currency)
				}
				r.create(ctx, MakeProvider("default", w.ModelURL).Price("scripted", 1_000_000).Obj(), other.Obj(),
					MakeRole("coder").Provider("other").Obj(), MakeChat("chat").MaxCost(limit).Obj())
				r.sendMessage(ctx, "request", "Delegate to coder: Submit a test")
				Eventually(r.task("chat-1")).WithContext(ctx).Should(And(BeIn(phase), HaveStatus(ContainSubstring(reason))))
			},
			Entry("another currency", "EUR", int64(1_000_000),
				v1beta1.TaskFailed, "the budget of chat: maxCostMicros counts in USD since the first call, and the price of the model is in EUR"),
			Entry("no price", "", int64(1_000_000), v1beta1.TaskFailed, "the price of the model is unknown"),
			Entry("the same currency", "USD", int64(1_000_000), v1beta1.TaskSuccess, ""),
			Entry("another currency without a limit", "EUR", int64(0), v1beta1.TaskSuccess, ""),
		)

		It("an agent at its limit reports a partial result", func(ctx SpecContext) {
			r := w.newNamespace(ctx)
			r.create(ctx, MakeTask("work", "Ponder").MaxIterations(2).Obj())
			Eventually(r.task("work")).WithContext(ctx).Should(BeIn(v1beta1.TaskFailed))
			task := must(ctx, r.task("work"))
			Expect(task.Status.Result.Summary).To(Equal("So far: nothing."))
			Expect(task.Status.Iterations).To(BeEquivalentTo(2), "the call for the partial answer does not count")
			requests := must(ctx, w.requestsOf(r.agent(ctx, "work").UID))
			Expect(requests).To(HaveLen(3))
			Expect(requests[2].tools()).To(BeEmpty())
		})

		It("a chat with an exhausted token budget reports it, and whom to ask", func(ctx SpecContext) {
			r := w.newNamespace(ctx)
			r.create(ctx, MakeChat("chat").MaxTokens(100).Obj())
			r.sendMessage(ctx, "request", "Greet Alice")
			Eventually(r.chat).WithContext(ctx).Should(BeDone(v1beta1.ChatIdle, v1beta1.ReasonBudgetExhausted, "of 100 tokens"))
			Eventually(r.posts).WithContext(ctx).Should(HavePost(WithText("Stopped: "), ReplyingTo("request"), HaveField("Spec.Role", v1beta1.RoleSystem)))
		})

		DescribeTable("every other way to end without success",
			func(ctx SpecContext, task taskBuilder, phase v1beta1.TaskPhase, kind v1beta1.ErrorKind, texts string) {
				r := w.newNamespace(ctx)
				r.addToolServer(ctx, MakeToolServer("box", w.tools.URL))
				r.create(ctx, task.Obj())
				Eventually(r.task("work")).WithContext(ctx).Should(BeDone(phase, string(kind), texts))
			},
			Entry("the agent gives up", MakeTask("work", "Give up: it is too dark"), v1beta1.TaskFailed, v1beta1.ErrorSubAgent, "it is too dark"),
			Entry("the provider refuses", MakeTask("work", "Be unauthorized"), v1beta1.TaskFailed, v1beta1.ErrorModel, "Incorrect API key provided."),
			Entry("a tool fails", MakeToolTask("work", "calculator", `{"expression":"1/0"}`), v1beta1.TaskFailed, v1beta1.ErrorTool, "zero"),
		)

		It("a cancelled task is cancelled, not failed", func(ctx SpecContext) {
			r := w.newNamespace(ctx)
			r.create(ctx, MakeTask("work", "Ask: Shall I go on?").Obj())
			Eventually(r.task("work")).WithContext(ctx).Should(BeIn(v1beta1.TaskWaiting))
			r.create(ctx, MakeMessage("stop").Task("work").Cancel("").Obj())
			Eventually(r.message("stop")).WithContext(ctx).Should(BeDone(v1beta1.MessageHandled, v1beta1.ReasonHandled))
			Eventually(r.task("work")).WithContext(ctx).Should(BeDone(v1beta1.TaskCancelled, string(v1beta1.ErrorCancelled)))
			Eventually(r.sub("work")).WithContext(ctx).Should(BeDone(v1beta1.SubAgentCancelled, string(v1beta1.ErrorCancelled)))
		})
	})
}
