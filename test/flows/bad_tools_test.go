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
	return []TableEntry{
		Entry("calls of tools that fail, do not exist or are not allowed, and invalid arguments", badInput(func(ctx context.Context, r *testNamespace) {
			r.create(ctx, MakeProvider("default", w.ModelURL).Obj())
			r.addToolServer(ctx, MakeToolServer("box", w.tools.URL))
			// answers are what the agents submit: the answers of their calls.
			answers := map[string]struct{ instruction, answer string }{
				"no-such-tool":  {"Use a tool that does not exist", `There is no tool "teleport" for you. Your tools are: `},
				"bad-arguments": {"Look without saying at what", "Correct them and call it again."},
				"no-json":       {"Call a tool with nonsense", "box__look"},
				"a-list":        {"Call a tool with a list", "calculator"},
				"fails":         {"Use the tool that fails", "the disk is full"},
				"floods":        {"Use the tool that floods", "water"},
				"forbidden":     {"Spawn although you may not", `There is no tool "spawn_agents" for you`},
			}
			for name, a := range answers {
				r.create(ctx, MakeTask(name, a.instruction).Obj())
			}
			for name, a := range answers {
				Eventually(r.task(name)).WithContext(ctx).Should(BeIn(v1beta1.TaskSuccess), name)
				Expect(must(ctx, r.task(name)).Status.Result.Summary).To(ContainSubstring(a.answer), name)
			}
			flood := must(ctx, w.requestsOf(r.agent(ctx, "floods").UID))[1].lastMessage()
			Expect(flood).To(ContainSubstring("read_result"))
			Expect(len(flood)).To(BeNumerically("<", 40_000))
		})),
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
			r.waitForNoToolServer(ctx, "box")
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

// waitForNoToolServer waits until the operator has observed a ToolServer's deletion: until a call of its tool look waits for it.
func (r *testNamespace) waitForNoToolServer(ctx context.Context, server string) {
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
	return []TableEntry{
		Entry("calls of control tools without a target", badInput(func(ctx context.Context, r *testNamespace) {
			r.create(ctx, MakeProvider("default", w.ModelURL).Obj())
			r.openChat(ctx)
			for i, call := range []struct{ request, answer string }{
				{"Delegate to nobody", "Nothing was delegated: "},
				{"Spawn nothing", "Nothing was spawned: "},
				{"Reply to nobody", `No agent "nobody" waits for an answer.`},
				{"Cancel nobody", `There is no running task "nobody".`},
				{"Continue nobody", `There is no finished agent "nobody"`},
			} {
				r.sendMessage(ctx, fmt.Sprint("request-", i), call.request)
				Eventually(r.message(fmt.Sprint("request-", i))).WithContext(ctx).Should(BeIn(v1beta1.MessageHandled))
				Eventually(w.requestsOf(must(ctx, r.chat).UID)).WithContext(ctx).Should(
					ContainElement(WithTransform(modelRequest.lastMessage, ContainSubstring(call.answer))))
				Eventually(r.chat).WithContext(ctx).Should(BeDone(v1beta1.ChatIdle, v1beta1.ReasonReady))
			}
		})),
		Entry("an invalid result", badInput(func(ctx context.Context, r *testNamespace) {
			r.create(ctx, MakeProvider("default", w.ModelURL).Obj(), MakeTask("work", "Submit nonsense").MaxIterations(3).Obj())
			Eventually(r.task("work")).WithContext(ctx).Should(Or(BeIn(v1beta1.TaskSuccess), BeIn(v1beta1.TaskFailed)))
			Expect(must(ctx, w.requestsOf(r.agent(ctx, "work").UID))[1].lastMessage()).To(ContainSubstring("submit_result"))
		})),
	}
}
