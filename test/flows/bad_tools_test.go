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

// badTools are invalid calls, and tools that fail. The error and how to correct it are returned to the model, which reports them
// here.
func badTools(w *world) []TableEntry {
	// told makes an agent call a tool and submit the answer that it got.
	told := func(texts string, instruction string) badInput {
		return func(ctx context.Context, r *testNamespace) {
			GinkgoHelper()
			r.create(ctx, MakeProvider("default", w.ModelURL).Obj())
			r.addToolServer(ctx, MakeToolServer("box", w.tools.URL))
			r.create(ctx, MakeTask("work", instruction).Obj())
			Eventually(r.task("work")).WithContext(ctx).Should(BeIn(v1beta1.TaskSuccess))
			Expect(must(ctx, r.task("work")).Status.Result.Summary).To(ContainSubstring(texts))
		}
	}
	return []TableEntry{
		Entry("a tool that does not exist", told(`There is no tool "teleport" for you. Your tools are: `, "Use a tool that does not exist")),
		Entry("arguments that do not fit the schema", told("Correct them and call it again.", "Look without saying at what")),
		Entry("arguments that are not JSON", told("box__look", "Call a tool with nonsense")),
		Entry("arguments that are a list", told("calculator", "Call a tool with a list")),
		Entry("a tool that fails", told("the disk is full", "Use the tool that fails")),
		Entry("a tool whose output is larger than a model can read", badInput(func(ctx context.Context, r *testNamespace) {
			told("water", "Use the tool that floods")(ctx, r)
			answer := must(ctx, w.requestsOf(r.agent(ctx, "work").UID))[1].lastMessage()
			Expect(answer).To(ContainSubstring("read_result"))
			Expect(len(answer)).To(BeNumerically("<", 40_000))
		})),
		Entry("a tool that the agent's role does not allow", told(`There is no tool "spawn_agents" for you`, "Spawn although you may not")),
		Entry("a tool that hangs", badInput(func(ctx context.Context, r *testNamespace) {
			slow := MakeToolServer("box", w.tools.URL)
			slow.Spec.TimeoutSeconds = 1
			r.create(ctx, MakeProvider("default", w.ModelURL).Obj())
			r.addToolServer(ctx, slow)
			r.create(ctx, MakeTask("work", "Wait at "+r.namespace).Obj())
			Eventually(r.task("work")).WithContext(ctx).Should(BeIn(v1beta1.TaskSuccess))
			Expect(must(ctx, r.task("work")).Status.Result.Summary).To(ContainSubstring("box__wait"))
			Expect(r.agent(ctx, "work").Status.ToolCalls).To(ContainElement(And(HaveField("Tool", "box__wait"), HaveField("Phase", v1beta1.ToolCallFailed))))
			Eventually(w.tools.isWaitingAt(r.namespace)).WithContext(ctx).Should(BeFalse())
		})),
		Entry("a tool server that vanishes during a call", badInput(func(ctx context.Context, r *testNamespace) {
			own := startToolbox()
			DeferCleanup(own.Close)
			server := MakeToolServer("box", own.URL)
			server.Spec.TimeoutSeconds = 3 // until then the call may be repeated
			r.create(ctx, MakeProvider("default", w.ModelURL).Obj())
			r.addToolServer(ctx, server)
			r.create(ctx, MakeTask("work", "Wait at nothing").Obj())
			Eventually(own.isWaitingAt("nothing")).WithContext(ctx).Should(BeTrue())
			go own.Close()
			Eventually(r.task("work")).WithContext(ctx).Should(BeIn(v1beta1.TaskSuccess))
			Expect(r.agent(ctx, "work").Status.ToolCalls).To(ContainElement(And(HaveField("Tool", "box__wait"), HaveField("Phase", v1beta1.ToolCallFailed))))
		})),
		Entry("a tool server that is deleted before a call", badInput(func(ctx context.Context, r *testNamespace) {
			r.create(ctx, MakeProvider("default", w.ModelURL).Obj(), MakeToolServer("box", w.tools.URL), MakeRole("orchestrator").Allow("box__*").Obj())
			r.openChat(ctx)
			Eventually(r.chat).WithContext(ctx).Should(BeDone(v1beta1.ChatIdle, v1beta1.ReasonReady))
			Expect(w.API.Delete(ctx, must(ctx, r.toolServer("box")))).To(Succeed())
			r.awaitNoToolServer(ctx, "box")
			r.sendMessage(ctx, "look", "Look at a tree")
			Eventually(r.task("chat-1")).WithContext(ctx).Should(BeDone(v1beta1.TaskPending, v1beta1.ReasonToolServerNotFound, `Create the ToolServer "box"`))
			r.create(ctx, MakeToolServer("box", w.tools.URL))
			Eventually(r.posts).WithContext(ctx).Should(HavePost(WithText("saw a tree"), ReplyingTo("look")))
		})),
		Entry("a Tool task whose tool hangs", badInput(func(ctx context.Context, r *testNamespace) {
			r.create(ctx, MakeToolServer("box", w.tools.URL), MakeRole("orchestrator").Allow("box__*").Obj())
			r.create(ctx, MakeToolTask("work", "box__wait", `{"gate":"`+r.namespace+`"}`).MaxSeconds(1).Obj())
			Eventually(r.task("work")).WithContext(ctx).Should(BeDone(v1beta1.TaskFailed, string(v1beta1.ErrorTimedOut), "time limit of 1 seconds"))
			Eventually(w.tools.isWaitingAt(r.namespace)).WithContext(ctx).Should(BeFalse())
		})),
	}
}

// awaitNoToolServer waits until the operator has seen that a ToolServer was deleted: until a call of its tool look waits for it.
func (r *testNamespace) awaitNoToolServer(ctx context.Context, server string) {
	GinkgoHelper()
	waits := BeDone(v1beta1.TaskPending, v1beta1.ReasonToolServerNotFound)
	for i := 0; ; i++ {
		name := fmt.Sprintf("probe-%d", i)
		r.create(ctx, MakeToolTask(name, server+"__look", `{"what":"a tree"}`).Obj())
		Eventually(r.task(name)).WithContext(ctx).Should(Or(waits, HaveField("Status.CompletionTime", Not(BeNil()))))
		if seen, err := waits.Match(must(ctx, r.task(name))); seen {
			Expect(err).NotTo(HaveOccurred())
			return
		}
	}
}

// badControl are invalid calls of control tools.
func badControl(w *world) []TableEntry {
	// answered makes the orchestrator call a tool and post the answer that it got.
	answered := func(texts string, request string) badInput {
		return func(ctx context.Context, r *testNamespace) {
			GinkgoHelper()
			r.create(ctx, MakeProvider("default", w.ModelURL).Obj())
			r.openChat(ctx)
			r.sendMessage(ctx, "request", request)
			Eventually(func(ctx context.Context) ([]modelRequest, error) { return w.requestsOf(must(ctx, r.chat).UID)(ctx) }).WithContext(ctx).Should(
				ContainElement(WithTransform(modelRequest.lastMessage, ContainSubstring(texts))))
			Eventually(r.chat).WithContext(ctx).Should(BeDone(v1beta1.ChatIdle, v1beta1.ReasonReady))
		}
	}
	return []TableEntry{
		Entry("a delegation to a role that does not exist", answered("Nothing was delegated: ", "Delegate to nobody")),
		Entry("a fan-out of nothing", answered("Nothing was spawned: ", "Spawn nothing")),
		Entry("an answer for an agent that does not exist", answered(`No agent "nobody" waits for an answer.`, "Reply to nobody")),
		Entry("a cancel of a task that does not exist, by the model", answered(`There is no running task "nobody".`, "Cancel nobody")),
		Entry("follow-up work for an agent that does not exist", answered(`There is no finished agent "nobody"`, "Continue nobody")),
		Entry("an invalid result", badInput(func(ctx context.Context, r *testNamespace) {
			r.create(ctx, MakeProvider("default", w.ModelURL).Obj(), MakeTask("work", "Submit nonsense").MaxIterations(3).Obj())
			Eventually(r.task("work")).WithContext(ctx).Should(Or(BeIn(v1beta1.TaskSuccess), BeIn(v1beta1.TaskFailed)))
			Expect(must(ctx, w.requestsOf(r.agent(ctx, "work").UID))[1].lastMessage()).To(ContainSubstring("submit_result"))
		})),
	}
}
