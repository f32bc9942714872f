// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package flows

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/ledger"
)

// identity covers objects that share a name and differ in their UID.
func identity(w *world) {
	Describe("An object with the name of another", func() {
		It("a task that is recreated before its old sub-agent is collected gets its own run", func(ctx SpecContext) {
			r := w.newNamespace(ctx)
			r.create(ctx, MakeTask("work", "Submit first").Obj())
			Eventually(r.task("work")).WithContext(ctx).Should(BeIn(v1beta1.TaskSuccess))
			old := r.agent(ctx, "work")
			removeFinalizer := r.addFinalizer(ctx, old)
			Expect(w.API.Delete(ctx, must(ctx, r.task("work")), client.PropagationPolicy("Background"))).To(Succeed())
			r.create(ctx, MakeTask("work", "Submit second").Obj())
			Eventually(r.task("work")).WithContext(ctx).Should(BeIn(v1beta1.TaskSuccess))
			task := must(ctx, r.task("work"))
			Expect(task.Status.Result.Summary).To(Equal("second"))
			Expect(task.Status.SubAgent).To(MatchRegexp(`^work-[a-z][a-z0-9]{4}$`))
			Expect(must(ctx, r.sub("work")).UID).To(Equal(old.UID), "the old one still exists")
			removeFinalizer()
		})

		It("a chat that is recreated at once posts under new names", func(ctx SpecContext) {
			r := w.newNamespace(ctx)
			r.openChat(ctx)
			r.sendMessage(ctx, "first", "Greet Alice")
			Eventually(r.posts).WithContext(ctx).Should(HavePost(WithText("Hello, Alice!")))
			removeFinalizer := r.addFinalizer(ctx, must(ctx, r.message("chat-post-1")))
			Expect(w.API.Delete(ctx, must(ctx, r.chat), client.PropagationPolicy("Background"))).To(Succeed())
			r.openChat(ctx)
			r.sendMessage(ctx, "second", "Greet Bob")
			Eventually(r.posts).WithContext(ctx).Should(HavePost(WithText("Hello, Bob!"), ReplyingTo("second"),
				HaveField("Name", MatchRegexp(`^chat-post-1-[a-z][a-z0-9]{4}$`))))
			Eventually(r.message("second")).WithContext(ctx).Should(HaveField("Status.Phase", v1beta1.MessageHandled))
			r.sendMessage(ctx, "third", "Greet Carol")
			Eventually(r.posts).WithContext(ctx).Should(HavePost(WithText("Hello, Carol!"), HaveField("Name", "chat-post-2")))
			Eventually(r.chat).WithContext(ctx).Should(HaveField("Status.Messages", BeEquivalentTo(4)), "posts of the old chat do not count")
			removeFinalizer()
		})

		It("a user's message with the name of an answer does not hide the answer", func(ctx SpecContext) {
			r := w.newNamespace(ctx)
			r.openChat(ctx)
			r.sendMessage(ctx, "chat-post-1", "Greet Alice")
			Eventually(r.posts).WithContext(ctx).Should(HavePost(WithText("Hello, Alice!"), ReplyingTo("chat-post-1"),
				HaveField("Name", HavePrefix("chat-post-1-"))))
		})

		It("a chat next to an agent of the same name: both delegate, ask and are answered", func(ctx SpecContext) {
			r := w.newNamespace(ctx)
			r.openChat(ctx)
			r.sendMessage(ctx, "one", "Delegate to coder: Delegate to tester: Ask: Which colour?")
			Eventually(r.task("chat-1-1")).WithContext(ctx).Should(BeIn(v1beta1.TaskWaiting))
			r.create(ctx, MakeChat("chat-1").Obj(), MakeMessage("two").Chat("chat-1").Content("Delegate to general: Ask: How many?").Obj())
			var second v1beta1.AgentTask
			Eventually(func(ctx context.Context) (string, error) {
				var tasks v1beta1.AgentTaskList
				err := r.API.List(ctx, &tasks, r.inNamespace(), client.MatchingLabels{v1beta1.LabelChat: "chat-1"})
				if len(tasks.Items) == 1 {
					second = tasks.Items[0]
				}
				return second.Name, err
			}).WithContext(ctx).Should(MatchRegexp(`^chat-1-1-[a-z][a-z0-9]{4}$`))
			Eventually(r.task(second.Name)).WithContext(ctx).Should(BeIn(v1beta1.TaskWaiting))
			r.create(ctx,
				MakeMessage("blue").InReplyTo(r.question(ctx, "chat-1-1").Name).Content("blue").Obj(),
				MakeMessage("seven").Chat("chat-1").InReplyTo(r.question(ctx, second.Name).Name).Content("seven").Obj())
			Eventually(r.task("chat-1-1")).WithContext(ctx).Should(HaveField("Status.Result.Summary", ContainSubstring("blue")))
			Eventually(r.task(second.Name)).WithContext(ctx).Should(HaveField("Status.Result.Summary", ContainSubstring("seven")))
			Eventually(r.posts).WithContext(ctx).Should(HavePost(WithText("Report of "+second.Name), ReplyingTo("two")))
		})

		It("objects left by --cascade=orphan are stopped, report it, and block no others", func(ctx SpecContext) {
			r := w.newNamespace(ctx)
			r.openChat(ctx)
			r.sendMessage(ctx, "request", `Spawn [{"task":"Hang"},{"role":"coder","task":"Delegate to tester: Hang"},{"task":"Ask: Which colour?"}]`)
			Eventually(w.inFlight).WithContext(ctx).Should(Equal(2))
			Eventually(r.task("chat-3")).WithContext(ctx).Should(BeIn(v1beta1.TaskWaiting))
			old := must(ctx, r.chat)
			Expect(w.API.Delete(ctx, old, client.PropagationPolicy("Orphan"))).To(Succeed())
			Eventually(w.inFlight).WithContext(ctx).Should(BeZero())
			Eventually(r.agents(string(old.UID))).WithContext(ctx).Should(And(HaveLen(5), HaveEach(ledger.StatusCancelled)))
			for _, name := range []string{"chat-1", "chat-2", "chat-2-1", "chat-3"} {
				Eventually(r.task(name)).WithContext(ctx).Should(BeDone(v1beta1.TaskCancelled, string(v1beta1.ErrorCancelled)))
			}
			Eventually(isGone(r.chat)).WithContext(ctx).Should(BeTrue())

			r.openChat(ctx)
			r.sendMessage(ctx, "again", "Delegate to general: Submit anew")
			Eventually(r.posts).WithContext(ctx).Should(HavePost(WithText("anew"), WithText("Report of chat-1-"), ReplyingTo("again")))
			Eventually(r.task("chat-1")).WithContext(ctx).Should(BeIn(v1beta1.TaskCancelled))
		})

		DescribeTable("no usage until the garbage collector runs", func(ctx SpecContext, what string) {
			r := w.newNamespace(ctx)
			r.openChat(ctx)
			r.sendMessage(ctx, "request", "Delegate to coder: Delegate to tester: Hang")
			Eventually(r.sub("chat-1-1")).WithContext(ctx).Should(BeIn(v1beta1.SubAgentActive)) // before that, its parents have calls in flight
			Eventually(w.inFlight).WithContext(ctx).Should(Equal(1))
			root := string(must(ctx, r.chat).UID)
			kept := []func(){r.addFinalizer(ctx, must(ctx, r.task("chat-1-1"))), r.addFinalizer(ctx, must(ctx, r.sub("chat-1-1")))}
			doomed := map[string]client.Object{"chat": must(ctx, r.chat), "task": must(ctx, r.task("chat-1")), "sub-agent": must(ctx, r.sub("chat-1"))}[what]
			Expect(w.API.Delete(ctx, doomed, client.PropagationPolicy("Background"))).To(Succeed())
			Eventually(w.inFlight).WithContext(ctx).Should(BeZero())
			Eventually(func(ctx context.Context) (map[string]ledger.Status, error) {
				found, err := r.agents(root)(ctx)
				delete(found, "chat")
				return found, err
			}).WithContext(ctx).Should(And(HaveLen(2), HaveEach(ledger.StatusCancelled)))
			Expect(must(ctx, r.sub("chat-1-1")).Name).To(Equal("chat-1-1"), "it still exists")
			for _, removeFinalizer := range kept {
				removeFinalizer()
			}
		},
			Entry("of a deleted chat", "chat"),
			Entry("of a deleted task", "task"),
			Entry("of a deleted sub-agent", "sub-agent"),
		)

		It("an object that is recreated while no operator is running inherits nothing from the old one", func(ctx SpecContext) {
			r := w.newNamespace(ctx)
			r.openChat(ctx)
			r.create(ctx, MakeTask("work", "Hang").Obj(), MakeTask("left", "Hang").Obj())
			r.sendMessage(ctx, "request", "Hang up")
			Eventually(w.inFlight).WithContext(ctx).Should(Equal(3))
			chat, work, left := must(ctx, r.chat), r.agent(ctx, "work"), r.agent(ctx, "left")
			removeFinalizer := r.addFinalizer(ctx, work)
			Expect(w.Operator.Kill()).To(Succeed())
			started := false
			DeferCleanup(func(ctx SpecContext) {
				if !started { // the other specs need an operator
					Expect(w.StartOperator(ctx)).To(Succeed())
				}
			})
			Eventually(w.inFlight).WithContext(ctx).Should(BeZero())
			Expect(w.API.Delete(ctx, chat, client.PropagationPolicy("Background"))).To(Succeed())
			Expect(w.API.Delete(ctx, must(ctx, r.task("work")), client.PropagationPolicy("Background"))).To(Succeed())
			Expect(w.API.Delete(ctx, must(ctx, r.task("left")), client.PropagationPolicy("Orphan"))).To(Succeed())
			Eventually(isGone(r.message("request"))).WithContext(ctx).Should(BeTrue())
			Eventually(r.sub("left")).WithContext(ctx).Should(HaveField("OwnerReferences", BeEmpty()))
			r.openChat(ctx)
			r.create(ctx, MakeTask("work", "Submit anew").Obj(), MakeMessage("hello").Content("Greet Bob").Obj())
			Expect(w.StartOperator(ctx)).To(Succeed())
			started = true

			Eventually(r.posts).WithContext(ctx).Should(HavePost(WithText("Hello, Bob!"), ReplyingTo("hello")))
			Eventually(r.task("work")).WithContext(ctx).Should(HaveField("Status.Result.Summary", "anew"))
			for _, uid := range []string{string(chat.UID), string(work.UID), string(left.UID)} {
				Eventually(r.agents(uid)).WithContext(ctx).Should(HaveEach(ledger.StatusCancelled))
			}
			Expect(w.inFlight(ctx)).To(BeZero())
			removeFinalizer()
		})
	})
}

// agents returns the ledger status of a tree's agents, by name.
func (r *testNamespace) agents(root string) func(context.Context) (map[string]ledger.Status, error) {
	return func(ctx context.Context) (map[string]ledger.Status, error) { return agentsBelow(ctx, r.world, root) }
}

func isGone[T any](read func(context.Context) (T, error)) func(context.Context) (bool, error) {
	return func(ctx context.Context) (bool, error) {
		_, err := read(ctx)
		return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
	}
}

// addFinalizer adds a finalizer to an object until letGo is called.
func (r *testNamespace) addFinalizer(ctx context.Context, object client.Object) (removeFinalizer func()) {
	GinkgoHelper()
	api := r.asOperator()
	set := func(finalizers ...string) {
		GinkgoHelper()
		Eventually(func(ctx context.Context) error {
			if err := r.API.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
				return client.IgnoreNotFound(err)
			}
			object.SetFinalizers(finalizers)
			return api.Update(ctx, object)
		}).WithContext(ctx).Should(Succeed())
	}
	set("test.nestor.dev/keep")
	return func() { set() }
}
