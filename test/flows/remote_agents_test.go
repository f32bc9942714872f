// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package flows

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/test/a2atest"
)

// MakeRemoteRole returns a role whose work a remote agent does.
func MakeRemoteRole(name, url string, headers ...v1beta1.HeaderSource) *v1beta1.AgentRole {
	r := MakeRole(name).Obj()
	r.Spec.Remote = &v1beta1.RemoteAgent{A2A: v1beta1.A2AAgent{URL: url, HeadersFrom: headers}}
	return r
}

// remoteAgents covers roles whose work an A2A agent elsewhere does.
func remoteAgents(w *world) {
	Describe("A remote agent", func() {
		It("does the work of a task, without any ModelProvider, and asks a person", func(ctx SpecContext) {
			agent := a2atest.Start(GinkgoTB(), a2atest.Options{})
			r := w.newEmptyNamespace(ctx)
			r.create(ctx, MakeRemoteRole("weather", agent.URL), MakeTask("report", "weather please").Role("weather").Obj())
			Eventually(r.task("report")).WithContext(ctx).Should(And(BeDone(v1beta1.TaskWaiting, v1beta1.ReasonWaitingForUser, "Which city?"),
				HaveField("Status.Waiting", HaveValue(HaveField("Kind", v1beta1.WaitingQuestion)))))
			r.create(ctx, MakeMessage("answer").Task("report").Content("Berlin").Obj())
			Eventually(r.task("report")).WithContext(ctx).Should(And(BeIn(v1beta1.TaskSuccess), HaveField("Status.Result.Summary", ContainSubstring("It is sunny in Berlin."))))
			Expect(agent.Messages()).To(HaveLen(2))
			Expect(agent.Tasks()).To(HaveLen(1))
			Expect(agent.Cancelled()).To(BeEmpty())
		})

		It("gets work from an agent that delegates to it, whose root shows the question", func(ctx SpecContext) {
			agent := a2atest.Start(GinkgoTB(), a2atest.Options{})
			r := w.newNamespace(ctx)
			r.create(ctx, MakeRemoteRole("weather", agent.URL), MakeRole("coder").Delegates("weather").Obj(),
				MakeTask("work", "Delegate to weather: weather please").Role("coder").Obj())
			Eventually(r.task("work")).WithContext(ctx).Should(HaveField("Status.Waiting", HaveValue(And(HaveField("SubAgent", "work-1"), HaveField("Text", ContainSubstring("Which city?"))))))
			r.create(ctx, MakeMessage("answer").Task("work").Content("Rome").Obj())
			Eventually(r.task("work-1")).WithContext(ctx).Should(And(BeIn(v1beta1.TaskSuccess), HaveField("Status.Result.Summary", ContainSubstring("It is sunny in Rome."))))
			Eventually(r.task("work")).WithContext(ctx).Should(BeIn(v1beta1.TaskSuccess))
		})

		It("is asked once, although the operator is killed while it works", func(ctx SpecContext) {
			agent := a2atest.Start(GinkgoTB(), a2atest.Options{})
			r := w.newEmptyNamespace(ctx)
			r.create(ctx, MakeRemoteRole("worker", agent.URL), MakeTask("work", "work hard").Role("worker").Obj())
			Eventually(agent.Working()).WithContext(ctx).Should(Receive())
			Expect(w.Operator.Kill()).To(Succeed())
			Expect(w.StartOperator(ctx)).To(Succeed())
			agent.Release()
			Eventually(r.task("work")).WithContext(ctx).Should(And(BeIn(v1beta1.TaskSuccess), HaveField("Status.Result.Summary", ContainSubstring("Half of it."))))
			Expect(agent.Messages()).To(HaveLen(1))
			Expect(agent.Cancelled()).To(BeEmpty())
		})

		It("is cancelled with its task", func(ctx SpecContext) {
			agent := a2atest.Start(GinkgoTB(), a2atest.Options{})
			r := w.newEmptyNamespace(ctx)
			r.create(ctx, MakeRemoteRole("worker", agent.URL), MakeTask("work", "work hard").Role("worker").Obj(), MakeTask("question", "weather please").Role("worker").Obj())
			Eventually(agent.Working()).WithContext(ctx).Should(Receive())
			Eventually(r.task("question")).WithContext(ctx).Should(BeIn(v1beta1.TaskWaiting))
			for _, name := range []string{"work", "question"} {
				r.create(ctx, MakeMessage("stop-"+name).Task(name).Cancel(name).Obj())
				Eventually(r.task(name)).WithContext(ctx).Should(BeIn(v1beta1.TaskCancelled))
			}
			Expect(agent.Cancelled()).To(ConsistOf(agent.Tasks()))
		})

		It("is cancelled by the next operator", func(ctx SpecContext) {
			agent := a2atest.Start(GinkgoTB(), a2atest.Options{})
			r := w.newEmptyNamespace(ctx)
			r.create(ctx, MakeRemoteRole("worker", agent.URL), MakeTask("work", "work hard").Role("worker").Obj())
			Eventually(agent.Working()).WithContext(ctx).Should(Receive())
			Expect(w.Operator.Kill()).To(Succeed())
			r.create(ctx, MakeMessage("stop").Task("work").Cancel("work").Obj())
			Expect(w.StartOperator(ctx)).To(Succeed())
			Eventually(r.task("work")).WithContext(ctx).Should(BeIn(v1beta1.TaskCancelled))
			Expect(agent.Cancelled()).To(Equal(agent.Tasks()))
			Expect(agent.Messages()).To(HaveLen(1))
		})

		It("is cancelled when its task is deleted", func(ctx SpecContext) {
			agent := a2atest.Start(GinkgoTB(), a2atest.Options{})
			r := w.newEmptyNamespace(ctx)
			r.create(ctx, MakeRemoteRole("worker", agent.URL), MakeTask("work", "work hard").Role("worker").Obj())
			Eventually(agent.Working()).WithContext(ctx).Should(Receive())
			Expect(w.API.Delete(ctx, must(ctx, r.task("work")))).To(Succeed())
			Eventually(agent.Cancelled).WithContext(ctx).Should(HaveLen(1))
		})

		It("is cancelled at a limit, with a partial result", func(ctx SpecContext) {
			r := w.newEmptyNamespace(ctx)
			var agent *a2atest.Agent
			half := HaveField("Status.Result", HaveValue(HaveField("Summary", ContainSubstring("Half of it."))))
			work := r.reachTimeLimit(ctx, func(name string) taskBuilder {
				agent = a2atest.Start(GinkgoTB(), a2atest.Options{})
				r.create(ctx, MakeRemoteRole(name, agent.URL))
				return MakeTask(name, "work hard").Role(name)
			}, func(task *v1beta1.AgentTask) bool {
				done, _ := half.Match(task)
				return done
			})
			Expect(must(ctx, r.task(work))).To(half)
			Expect(agent.Cancelled()).To(Equal(agent.Tasks()))
		})

		It("fails the task if it fails", func(ctx SpecContext) {
			agent := a2atest.Start(GinkgoTB(), a2atest.Options{})
			r := w.newEmptyNamespace(ctx)
			r.create(ctx, MakeRemoteRole("weather", agent.URL), MakeTask("report", "fail now").Role("weather").Obj())
			Eventually(r.task("report")).WithContext(ctx).Should(And(BeIn(v1beta1.TaskFailed), HaveField("Status.Error.Message", ContainSubstring("The station is down."))))
		})

		It("gets headers from a Secret, and its tasks wait for that", func(ctx SpecContext) {
			agent := a2atest.Start(GinkgoTB(), a2atest.Options{Header: [2]string{"Authorization", "Bearer remote-token"}})
			r := w.newEmptyNamespace(ctx)
			header := v1beta1.HeaderSource{Name: "Authorization", SecretKeyRef: v1beta1.SecretKeyRef{Name: "weather", Key: "authorization"}}
			r.create(ctx, MakeRemoteRole("weather", agent.URL, header), MakeTask("report", "weather please").Role("weather").Obj())
			Eventually(r.role("weather")).WithContext(ctx).Should(HaveStatus(ContainSubstring("(False " + v1beta1.ReasonSecretNotFound + ": ")))
			Eventually(r.task("report")).WithContext(ctx).Should(HaveField("Status.Conditions", ContainElement(HaveField("Reason", v1beta1.ReasonSecretNotFound))))
			Expect(agent.Messages()).To(BeEmpty())
			r.create(ctx, MakeSecret("weather", "authorization", "Bearer remote-token"))
			Eventually(r.task("report")).WithContext(ctx).Should(BeIn(v1beta1.TaskWaiting))
			Eventually(r.role("weather")).WithContext(ctx).Should(HaveStatus(ContainSubstring("(True " + v1beta1.ReasonReady + ": ")))
			Expect(agent.Messages()).To(HaveLen(1))
		})

		It("cannot lead a chat", func(ctx SpecContext) {
			r := w.newNamespace(ctx)
			r.create(ctx, MakeRemoteRole("weather", "http://agents.example.com"), MakeChat("chat").Role("weather").Obj())
			Eventually(r.chat).WithContext(ctx).Should(HaveStatus(ContainSubstring("(False " + v1beta1.ReasonInvalidSpec + ": ")))
		})
	})
}
