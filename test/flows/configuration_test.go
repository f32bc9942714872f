// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package flows

import (
	"context"
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/config/operator"
	"github.com/nestor-dev/nestor/internal/ledger"
)

// configuration covers where agents inherit their configuration from, and the effect of edits.
func configuration(w *world) {
	Describe("Configuration", func() {
		inheritance(w)
		edits(w)
		contexts(w)
	})
}

func inheritance(w *world) {
	It("the model of a chat applies to the whole tree, except for roles with their own model", func(ctx SpecContext) {
		r := w.newNamespace(ctx)
		chat := MakeChat("chat").Provider("main").MaxDepth(3).Obj()
		chat.Spec.Model = "large"
		r.create(ctx, MakeProvider("main", w.ModelURL).Obj(), MakeProvider("fast", w.ModelURL).Obj(),
			MakeRole("general").Prompt("You are general.").Delegates("general", "quick", "thrifty").Obj(),
			MakeRole("quick").Prompt("You are quick.").Provider("fast").Obj(), MakeRole("thrifty").Prompt("You are thrifty.").Model("small").Obj(), chat)
		r.sendMessage(ctx, "request", `Delegate to general: Spawn [{"role":"general","task":"Submit one"},{"role":"quick","task":"Submit two"},{"role":"thrifty","task":"Submit three"}]`)
		Eventually(r.task("chat-1")).WithContext(ctx).Should(BeIn(v1beta1.TaskSuccess))
		for name, want := range map[string][2]string{
			"chat-1": {"main", "large"}, "chat-1-1": {"main", "large"}, "chat-1-2": {"fast", "scripted"}, "chat-1-3": {"main", "small"},
		} {
			sub := r.agent(ctx, name)
			Expect([2]string{sub.Spec.ModelProvider, sub.Spec.Model}).To(Equal(want), name)
			Expect(must(ctx, w.requestsOf(sub.UID))).To(HaveEach(HaveField("Model", want[1])), name)
		}
	})

	It("the provider, model, directory and group of a standalone task apply to its tree", func(ctx SpecContext) {
		r := w.newNamespace(ctx)
		job := MakeTask("job", `Spawn [{"task":"Submit one"},{"task":"Submit two","cwd":"other"},{"role":"helper","task":"Submit three"}]`).Provider("fast").Model("large").Obj()
		job.Spec.WorkingDir = "src"
		r.create(ctx, MakeProvider("fast", w.ModelURL).Obj(), MakeRole("general").Prompt("You are general.").Provider("default").Delegates("general", "helper").Obj())
		r.create(ctx, MakeRole("helper").Prompt("You help.").Obj(), job)
		Eventually(r.task("job")).WithContext(ctx).Should(BeIn(v1beta1.TaskSuccess))
		Expect(r.agent(ctx, "job").Spec).To(And(HaveField("ModelProvider", "fast"), HaveField("Model", "large"), HaveField("WorkingDir", "src")))
		one, two := r.agent(ctx, "job-1"), r.agent(ctx, "job-2")
		Expect(one.Spec).To(And(HaveField("ModelProvider", "default"), HaveField("Model", "scripted"), HaveField("WorkingDir", "src")), "its role names a provider")
		Expect(two.Spec.WorkingDir).To(Equal("other"))
		Expect(r.agent(ctx, "job-3").Spec).To(And(HaveField("ModelProvider", "fast"), HaveField("Model", "large"), HaveField("WorkingDir", "src")), "its role names none")
		group := must(ctx, r.task("job-1")).Spec.Group
		Expect(group).NotTo(BeEmpty())
		Expect(must(ctx, r.task("job-2")).Spec.Group).To(Equal(group))
	})

	It("40 chats that are applied together with their roles have all of them", func(ctx SpecContext) {
		r := w.newNamespace(ctx)
		const many = 40
		for i := range many {
			name := fmt.Sprintf("c%d", i)
			r.create(ctx, MakeRole(name+"-first").Prompt("You are first.").Obj(), MakeRole(name+"-second").Prompt("You are second.").Obj(),
				MakeRole(name).Prompt("You lead.").Delegates(name+"-first", name+"-second").Obj(),
				MakeChat(name).Role(name).Obj(), MakeMessage(name).Chat(name).Content("Greet Alice").Obj())
		}
		for i := range many {
			name := fmt.Sprintf("c%d", i)
			Eventually(r.message(name)).WithContext(ctx).Should(BeIn(v1beta1.MessageHandled))
			chat, err := fetch(ctx, r, name, &v1beta1.AgentChat{})
			Expect(err).NotTo(HaveOccurred())
			Eventually(w.requestsOf(chat.UID)).WithContext(ctx).Should(HaveLen(1))
			system := must(ctx, w.requestsOf(chat.UID))[0].Body.Messages[0].Content
			Expect(system).To(And(ContainSubstring("`"+name+"-first`"), ContainSubstring("`"+name+"-second`")), name)
		}
	})

	It("a role that is created later is offered from the next turn on", func(ctx SpecContext) {
		r := w.newNamespace(ctx)
		r.create(ctx, MakeRole("lead").Prompt("You lead.").Delegates("late").Obj(), MakeChat("chat").Role("lead").Obj())
		r.sendMessage(ctx, "first", "Greet Alice")
		Eventually(r.posts).WithContext(ctx).Should(HavePost(WithText("Hello, Alice!")))
		r.create(ctx, MakeRole("late").Prompt("You are late.").Obj())
		chat := must(ctx, r.chat)
		Eventually(func() ([]string, error) { return eventTypes(ctx, w, string(chat.UID)) }).WithContext(ctx).Should(ContainElement("Reconfigured"))
		r.sendMessage(ctx, "second", "Delegate to late: Submit the work")
		Eventually(r.task("chat-1")).WithContext(ctx).Should(BeIn(v1beta1.TaskSuccess))
	})
}

func edits(w *world) {
	It("an edited chat answers with its new role and model from the next turn on", func(ctx SpecContext) {
		r := w.newNamespace(ctx)
		r.create(ctx, MakeProvider("fast", w.ModelURL).Obj(), MakeRole("poet").Prompt("You are a poet.").Obj())
		r.openChat(ctx)
		r.sendMessage(ctx, "first", "Greet Alice")
		Eventually(r.posts).WithContext(ctx).Should(HavePost(WithText("Hello, Alice!")))
		change(ctx, r, r.chat, func(c *v1beta1.AgentChat) {
			c.Spec.Role, c.Spec.ModelProvider, c.Spec.Model = "poet", "fast", "large"
		})
		waitForObserved(ctx, r.chat)
		r.sendMessage(ctx, "second", "Greet Bob")
		Eventually(r.posts).WithContext(ctx).Should(HavePost(WithText("Hello, Bob!")))
		chat := must(ctx, r.chat)
		requests := must(ctx, w.requestsOf(chat.UID))
		Expect(requests).To(HaveLen(2))
		Expect(requests[1]).To(HaveField("Model", "large"))
		Expect(requests[1].Body.Messages[0].Content).To(HavePrefix("You are a poet."))
		record, err := w.history.Agent(ctx, string(chat.UID))
		Expect(err).NotTo(HaveOccurred())
		Expect(record).To(And(HaveField("Role", "poet"), HaveField("Provider", r.namespace+"/fast"), HaveField("Model", "large")))
	})

	It("a chat whose new role does not exist waits for it", func(ctx SpecContext) {
		r := w.newNamespace(ctx)
		r.openChat(ctx)
		r.sendMessage(ctx, "first", "Greet Alice")
		Eventually(r.posts).WithContext(ctx).Should(HavePost(WithText("Hello, Alice!")))
		change(ctx, r, r.chat, func(c *v1beta1.AgentChat) { c.Spec.Role = "poet" })
		Eventually(r.chat).WithContext(ctx).Should(BeDone(v1beta1.ChatIdle, v1beta1.ReasonRoleNotFound, `"poet"`))
		r.sendMessage(ctx, "second", "Greet Bob")
		Consistently(r.message("second")).WithContext(ctx).Should(Not(BeIn(v1beta1.MessageHandled)))
		r.create(ctx, MakeRole("poet").Prompt("You are a poet.").Obj())
		Eventually(r.posts).WithContext(ctx).Should(HavePost(WithText("Hello, Bob!")))
		Eventually(r.chat).WithContext(ctx).Should(BeDone(v1beta1.ChatIdle, v1beta1.ReasonReady))
	})

	It("a chat with an exhausted budget continues when the budget is raised", func(ctx SpecContext) {
		r := w.newNamespace(ctx)
		r.create(ctx, MakeChat("chat").MaxTokens(100).Obj())
		r.sendMessage(ctx, "request", "Greet Alice")
		Eventually(r.chat).WithContext(ctx).Should(BeDone(v1beta1.ChatIdle, string(v1beta1.ErrorBudgetExhausted)))
		change(ctx, r, r.chat, func(c *v1beta1.AgentChat) { c.Spec.Limits.MaxTotalTokens = 1_000_000 })
		Eventually(r.chat).WithContext(ctx).Should(BeDone(v1beta1.ChatIdle, v1beta1.ReasonReady))
		chat := must(ctx, r.chat)
		Eventually(w.requestsOf(chat.UID)).WithContext(ctx).Should(ConsistOf(WithTransform(modelRequest.conversation,
			And(ContainSubstring("Greet Alice"), ContainSubstring("It has been raised")))))
	})

	It("raised maxParallelTasks and maxDepth take effect", func(ctx SpecContext) {
		r := w.newNamespace(ctx)
		chat := MakeChat("chat").MaxDepth(1).Obj()
		chat.Spec.Limits.MaxParallelTasks = 1
		r.create(ctx, MakeToolServer("box", w.tools.URL), MakeRole("general").Allow("box__*").Delegates("general").Obj(), chat)
		r.sendMessage(ctx, "request", `Spawn [{"task":"Wait at `+r.namespace+`"},{"task":"Wait at `+r.namespace+`"}]`)
		Eventually(r.phases("chat-1", "chat-2")).WithContext(ctx).Should(ConsistOf("Running", "Pending ParallelLimit"))
		change(ctx, r, r.chat, func(c *v1beta1.AgentChat) {
			c.Spec.Limits.MaxParallelTasks, c.Spec.Limits.MaxDepth = 2, 2
		})
		Eventually(r.phases("chat-1", "chat-2")).WithContext(ctx).Should(ConsistOf("Running", "Running"))
		w.tools.open(r.namespace)
		waitForObserved(ctx, r.chat)
		r.sendMessage(ctx, "deeper", "Delegate to general: Delegate to general: Submit the bottom")
		Eventually(r.task("chat-3-1")).WithContext(ctx).Should(BeIn(v1beta1.TaskSuccess))
	})

	It("finished tasks are deleted when a chat is edited to keep none", func(ctx SpecContext) {
		r := w.newNamespace(ctx)
		r.openChat(ctx)
		r.sendMessage(ctx, "request", "Delegate to general: Submit the result")
		Eventually(r.task("chat-1")).WithContext(ctx).Should(BeIn(v1beta1.TaskSuccess))
		change(ctx, r, r.chat, func(c *v1beta1.AgentChat) { c.Spec.TaskTTLSecondsAfterFinished = ptr.To(int32(0)) })
		Eventually(func(ctx context.Context) error {
			_, err := r.task("chat-1")(ctx)
			return err
		}).WithContext(ctx).Should(Satisfy(apierrors.IsNotFound))
	})

	It("a sub-agent does not call a provider that is no longer shared with it", func(ctx SpecContext) {
		r := w.newEmptyNamespace(ctx)
		system := &testNamespace{world: w, namespace: operator.Namespace}
		shared := MakeProvider("shared-"+r.namespace, w.ModelURL).Retries(0).Shared().Obj()
		system.create(ctx, shared)
		DeferCleanup(func(ctx SpecContext) { Expect(client.IgnoreNotFound(w.API.Delete(ctx, shared))).To(Succeed()) })
		r.create(ctx, MakeTask("job", "Ask: Which colour?").Provider(shared.Name).Obj())
		Eventually(r.task("job")).WithContext(ctx).Should(BeIn(v1beta1.TaskWaiting))
		change(ctx, r, system.provider(shared.Name), func(p *v1beta1.ModelProvider) { p.Spec.AllowedNamespaces = nil })
		waitForObserved(ctx, system.provider(shared.Name))
		r.create(ctx, MakeMessage("answer").Task("job").Content("Green").Obj())
		Eventually(r.task("job")).WithContext(ctx).Should(BeDone(v1beta1.TaskFailed, string(v1beta1.ErrorModel), "be used in the namespace "+r.namespace))
	})
}

func contexts(w *world) {
	// greeted returns a chat with one message.
	greeted := func(ctx SpecContext) *testNamespace {
		GinkgoHelper()
		r := w.newNamespace(ctx)
		r.openChat(ctx)
		r.sendMessage(ctx, "first", "Greet Alice")
		Eventually(r.posts).WithContext(ctx).Should(HavePost(WithText("Hello, Alice!")))
		return r
	}

	It("context Summary: agents that are started together receive one summary", func(ctx SpecContext) {
		r := greeted(ctx)
		r.sendMessage(ctx, "share", "Share a summary with three")
		for _, name := range []string{"chat-1", "chat-2", "chat-3"} {
			Eventually(r.task(name)).WithContext(ctx).Should(BeIn(v1beta1.TaskSuccess))
			first := must(ctx, w.requestsOf(r.agent(ctx, name).UID))[0].conversation()
			Expect(first).To(And(ContainSubstring("In short: they greet each other."), Not(ContainSubstring("Hello, Alice!"))))
		}
		chat := must(ctx, r.chat)
		var condensed []string
		for _, request := range must(ctx, w.requestsOf(chat.UID)) {
			if strings.HasPrefix(request.Body.Messages[0].Content, "You condense") {
				condensed = append(condensed, request.conversation())
			}
		}
		Expect(condensed).To(ConsistOf(And(ContainSubstring("Greet Alice"), ContainSubstring("Hello, Alice!"))))
		calls, err := w.history.ModelCalls(ctx, ledger.CallFilter{Agent: string(chat.UID)}, ledger.Page{})
		Expect(err).NotTo(HaveOccurred())
		Expect(calls.Items).To(ContainElement(And(HaveField("RequestType", "Context"), HaveField("Result.Status", ledger.StatusSuccess))))
	})

	It("context Full: an agent receives the conversation", func(ctx SpecContext) {
		r := greeted(ctx)
		r.sendMessage(ctx, "share", "Share everything")
		Eventually(r.task("chat-1")).WithContext(ctx).Should(BeIn(v1beta1.TaskSuccess))
		Expect(must(ctx, w.requestsOf(r.agent(ctx, "chat-1").UID))[0].conversation()).To(And(ContainSubstring("user: Greet Alice"), ContainSubstring("assistant: Hello, Alice!")))
	})

	It("context Selective: it needs a workspace, and files", func(ctx SpecContext) {
		r := greeted(ctx)
		r.sendMessage(ctx, "share", "Share the file notes.txt")
		Eventually(r.task("chat-1")).WithContext(ctx).Should(BeDone(v1beta1.TaskFailed, string(v1beta1.ErrorInvalidSpec), "workspace"))
		r.sendMessage(ctx, "nothing", "Share no file")
		Eventually(r.message("nothing")).WithContext(ctx).Should(BeIn(v1beta1.MessageHandled))
		Eventually(r.chat).WithContext(ctx).Should(BeIn(v1beta1.ChatIdle))
		Eventually(w.requestsOf(must(ctx, r.chat).UID)).WithContext(ctx).Should(ContainElement(
			WithTransform(modelRequest.conversation, ContainSubstring(`shows the agent the files in "context_files"`))))
	})
}

// eventTypes returns the types of the newest events of an agent.
func eventTypes(ctx SpecContext, w *world, uid string) ([]string, error) {
	history, err := w.history.Load(ctx, uid)
	var types []string
	for _, e := range history.Events {
		types = append(types, e.Type)
	}
	return types, err
}
