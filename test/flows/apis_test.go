// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package flows

import (
	"context"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

// otherAPIs are the APIs whose clients run the core flows; all other flows use APIOpenAI.
var otherAPIs = []v1beta1.ModelAPI{v1beta1.APIOpenAIResponses, v1beta1.APIAnthropic, v1beta1.APIGemini, v1beta1.APIBedrock, v1beta1.APIVertex}

// everyAPI runs the core flows on each API. The scripted model plays the same scripts on all of them, and refuses what the
// real API refuses.
func everyAPI(w *world) {
	Describe("On every API", func() {
		AfterEach(func() { w.api = "" })
		for _, api := range otherAPIs {
			Describe(string(api), func() {
				var before int
				BeforeEach(func(ctx SpecContext) {
					w.api, before = api, len(w.modelRequests(ctx))
				})
				AfterEach(func(ctx SpecContext) { expectOnly(api, w.modelRequests(ctx)[before:]) })
				coreFlows(w)
			})
		}
		It("agents on every API continue after a crash of the operator, and repeat no call", func(ctx SpecContext) { crash(ctx, w) })
	})
}

// modelRequests returns all requests that the model received.
func (w *world) modelRequests(ctx context.Context) []modelRequest {
	GinkgoHelper()
	record, err := w.modelRecord(ctx, "")
	Expect(err).NotTo(HaveOccurred())
	return record.Requests
}

// expectOnly checks that requests used the API, and that none was refused.
func expectOnly(api v1beta1.ModelAPI, requests []modelRequest) {
	GinkgoHelper()
	Expect(requests).NotTo(BeEmpty())
	for _, request := range requests {
		Expect(request.API).To(Equal(string(api)))
		Expect(request.Status).To(Equal(200), "%s refused: %s", api, request.Error)
	}
}

// coreFlows are the flows that depend on what a model sends and is sent.
func coreFlows(w *world) {
	It("delegates, uses tools, answers, and continues the finished agent", func(ctx SpecContext) {
		r := research(ctx, w)
		Expect(r.agent(ctx, "chat-1").Status.Iterations).To(BeEquivalentTo(3))
		Eventually(r.posts).WithContext(ctx).Should(HavePost(WithText("The lighthouse of Alexandria was begun under Ptolemy I"), ReplyingTo("request")))
		r.sendMessage(ctx, "more", "Add how tall it was.")
		Eventually(r.posts).WithContext(ctx).Should(HavePost(WithText("at least 100 metres"), ReplyingTo("more")))
		Eventually(r.task("chat-2")).WithContext(ctx).Should(HaveField("Status.Usage.TotalTokens", BeNumerically(">", 0))) // the status follows the post
	})

	It("asks a person, and fans out", func(ctx SpecContext) {
		r := w.newNamespace(ctx)
		r.openChat(ctx)
		r.sendMessage(ctx, "ask", "Delegate to general: Ask: Which colour?")
		post := r.question(ctx, "chat-1")
		r.create(ctx, MakeMessage("answer").Content("Green, please.").InReplyTo(post.Name).Obj())
		Eventually(r.task("chat-1")).WithContext(ctx).Should(And(BeIn(v1beta1.TaskSuccess), HaveField("Status.Result.Summary", "Green, please.")))
		Eventually(r.chat).WithContext(ctx).Should(BeIn(v1beta1.ChatIdle))
		r.sendMessage(ctx, "review", "Review the authentication module for potential issues.")
		Eventually(r.posts).WithContext(ctx).Should(HavePost(WithText("The review of the authentication module"), ReplyingTo("review")))
	})

	It("waits for an approval, and sends reasoning and images back to the model", func(ctx SpecContext) {
		r, path := writeBelow(ctx, w)
		r.create(ctx, MakeTask("think", "Think, then look at the sky").Obj(), MakeTask("see", "Show the picture").Obj())
		call := must(ctx, r.task("chat-1-1")).Status.Waiting.ToolCall
		r.create(ctx, MakeMessage("yes").Approve("chat-1-1", call).Obj())
		Eventually(r.posts).WithContext(ctx).Should(HavePost(WithText("wrote "+path), ReplyingTo("request")))
		Expect(w.tools.writeCount(path)()).To(Equal(1))
		Eventually(r.task("think")).WithContext(ctx).Should(And(BeIn(v1beta1.TaskSuccess), HaveField("Status.Result.Summary", "saw the sky")))
		Eventually(r.task("see")).WithContext(ctx).Should(And(BeIn(v1beta1.TaskSuccess), HaveField("Status.Result.Summary", "I see the picture.")))
	})

	It("cancels agents and their model calls", func(ctx SpecContext) {
		r := w.newNamespace(ctx)
		r.openChat(ctx)
		r.sendMessage(ctx, "request", `Spawn [{"task":"Hang"},{"role":"planner","task":"Delegate to coder: Begin and hang"}]`)
		Eventually(w.inFlight).WithContext(ctx).Should(Equal(2))
		r.create(ctx, MakeMessage("stop").Cancel("").Obj())
		for _, name := range []string{"chat-1", "chat-2", "chat-2-1"} {
			Eventually(r.task(name)).WithContext(ctx).Should(BeDone(v1beta1.TaskCancelled, string(v1beta1.ErrorCancelled)))
		}
		Eventually(w.inFlight).WithContext(ctx).Should(BeZero())
	})
}

// crash kills the operator while an agent on each API waits for a tool.
func crash(ctx context.Context, w *world) {
	GinkgoHelper()
	rooms := make([]*testNamespace, 0, len(otherAPIs))
	for _, api := range otherAPIs {
		w.api = api
		r := w.newNamespace(ctx)
		r.addToolServer(ctx, MakeToolServer("box", w.tools.URL))
		r.create(ctx, MakeTask("work", "Wait at "+r.namespace).Obj())
		Eventually(w.tools.isWaitingAt(r.namespace)).WithContext(ctx).Should(BeTrue())
		rooms = append(rooms, r)
	}
	Expect(w.Operator.Kill()).To(Succeed())
	Expect(w.StartOperator(ctx)).To(Succeed())
	for _, r := range rooms {
		w.tools.open(r.namespace)
		Eventually(r.task("work")).WithContext(ctx).Should(And(
			BeIn(v1beta1.TaskSuccess), HaveField("Status.Result.Summary", "went through "+r.namespace)), fmt.Sprint("on ", must(ctx, r.provider("default")).Spec.API))
		requests := must(ctx, w.requestsOf(r.agent(ctx, "work").UID))
		Expect(requests).To(HaveLen(2), "no request is repeated")
		Expect(requests).To(HaveEach(HaveField("API", string(must(ctx, r.provider("default")).Spec.API))))
	}
}
