// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package flows

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/ledger"
)

// MakeEvaluation builds an evaluation of the role poet. All poems in the record must be sonnets with the number of verses that was recorded.
func MakeEvaluation(name string) *v1beta1.AgentEvaluation {
	return &v1beta1.AgentEvaluation{ObjectMeta: named(name), Spec: v1beta1.AgentEvaluationSpec{Role: "poet", Cases: []v1beta1.EvaluationCase{{
		Name: "poems", TaskSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"suite": "poems"}},
		Expect: []string{
			"result.text.startsWith('A sonnet about') && result.text.contains('14')",
			"calls.map(c, c.tool + ' ' + c.outcome) == ['calculator Success']",
		},
	}}}}
}

func (r *testNamespace) evaluation(name string) func(context.Context) (*v1beta1.AgentEvaluation, error) {
	return func(ctx context.Context) (*v1beta1.AgentEvaluation, error) {
		return fetch(ctx, r, name, &v1beta1.AgentEvaluation{})
	}
}

// lanes returns the tasks that an evaluation has created.
func (r *testNamespace) lanes(ctx context.Context, evaluation string) []v1beta1.AgentTask {
	GinkgoHelper()
	var list v1beta1.AgentTaskList
	Expect(r.API.List(ctx, &list, r.inNamespace(), client.MatchingLabels{v1beta1.LabelEvaluation: evaluation})).To(Succeed())
	return list.Items
}

const criticSchema = `{"type":"object","required":["polite","score"],"additionalProperties":false,
	"properties":{"polite":{"type":"boolean"},"score":{"type":"integer","minimum":1,"maximum":5}}}`

// makeCritic builds an isolated role.
func makeCritic(prompt string) *v1beta1.AgentRole {
	role := MakeRole("critic").Prompt(prompt).Output(criticSchema).Obj()
	role.Spec.Isolated = true
	return role
}

// makeJudged builds an evaluation of the role poet whose judge is the role critic.
func makeJudged(name string) *v1beta1.AgentEvaluation {
	e := MakeEvaluation(name)
	e.Spec.Judge, e.Spec.Cases[0].Expect[0] = "critic", "judge.polite && judge.score >= 4"
	return e
}

// silentModel serves a model that never replies. The channel has an element for each request.
func silentModel() (url string, requests <-chan struct{}) {
	received := make(chan struct{}, 64)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, request *http.Request) {
		_, _ = io.Copy(io.Discard, request.Body) // the end of the connection is noticed after the body
		received <- struct{}{}
		<-request.Context().Done()
	}))
	DeferCleanup(server.Close)
	return server.URL, received
}

// recordPoems runs the role poet for two tasks that a suite selects.
func (r *testNamespace) recordPoems(ctx context.Context) {
	GinkgoHelper()
	r.recordPoem(ctx, "rain", "Rain")
	r.recordPoem(ctx, "snow", "Snow")
}

func (r *testNamespace) recordPoem(ctx context.Context, task, about string) {
	GinkgoHelper()
	recorded := MakeTask(task, "Write a poem about "+about).Role("poet").Obj()
	recorded.Labels = map[string]string{"suite": "poems"}
	r.create(ctx, recorded)
	Eventually(r.task(task)).WithContext(ctx).Should(BeIn(v1beta1.TaskSuccess))
}

// evaluations covers AgentEvaluations.
func evaluations(w *world) {
	Describe("Evaluations", func() {
		prompt := func(text string) func(*v1beta1.AgentRole) {
			return func(role *v1beta1.AgentRole) { role.Spec.SystemPrompt = text }
		}

		It("a candidate that does better on the recorded tasks is promoted, and one that does not is reported", func(ctx SpecContext) {
			r := w.newNamespace(ctx)
			role := MakeGatedRole("poet", "You write odes.")
			role.Spec.Promotion.Evaluation = "poems"
			r.create(ctx, role)
			Eventually(r.role("poet")).WithContext(ctx).Should(HaveStatus(ContainSubstring("True EvaluationNotFound")))
			first := r.promoted(ctx, "poet", upToDate)
			r.recordPoems(ctx)
			r.create(ctx, MakeEvaluation("poems"))
			Eventually(r.evaluation("poems")).WithContext(ctx).Should(HaveStatus(ContainSubstring("True Ready: The cases have 2 recorded runs.")))
			Expect(r.lanes(ctx, "poems")).To(BeEmpty(), "there is no candidate")

			By("failing a candidate that is no better")
			change(ctx, r, r.role("poet"), prompt("You write odes, in earnest."))
			Eventually(r.evaluation("poems")).WithContext(ctx).Should(HaveStatus(And(HavePrefix("Failed"), ContainSubstring("True EvaluationFailed"), ContainSubstring("passed: 0 of 2 runs (at least 100%)"))))
			Eventually(r.role("poet")).WithContext(ctx).Should(HaveStatus(ContainSubstring("True EvaluationFailed")))
			failed := must(ctx, r.evaluation("poems")).Status
			Expect(failed.Cases).To(HaveLen(2))
			Expect(failed.Cases[0]).To(And(HaveField("Outcome", v1beta1.CaseFailed), HaveField("Message", "expect[0] is false.")))
			Expect(failed.Regressions).To(BeZero(), "the promoted revision fails too")
			Expect(must(ctx, r.role("poet")).Status.PromotedRevision).To(Equal(first.PromotedRevision))
			tasks := r.lanes(ctx, "poems")
			Expect(tasks).To(HaveLen(4))
			for _, task := range tasks {
				Expect(task.Status.RoleRevision).To(BeElementOf(failed.BaselineRevision, failed.CandidateRevision))
				Expect(task.Status.Usage.ModelCalls).To(BeEquivalentTo(2))
			}

			By("promoting one that is")
			change(ctx, r, r.role("poet"), prompt("You write sonnets."))
			second := r.promoted(ctx, "poet", upToDate)
			Expect(second.PromotionUser).To(BeEmpty())
			Expect(second.PreviousRevision).To(Equal(first.PromotedRevision))
			Eventually(r.evaluation("poems")).WithContext(ctx).Should(HaveStatus(And(HavePrefix("Passed"), ContainSubstring("True Ready"))))
			Eventually(r.role("poet")).WithContext(ctx).Should(HaveStatus(ContainSubstring("True Ready")))
			passed := must(ctx, r.evaluation("poems")).Status
			Expect(passed.CandidateRevision).To(Equal(second.PromotedRevision))
			Expect(*passed.Candidate.PassRate).To(BeEquivalentTo(100))
			Expect(*passed.Baseline.PassRate).To(BeZero())
			Expect(r.lanes(ctx, "poems")).To(HaveLen(4), "those of the earlier candidate were deleted")

			By("finding a regression, in the runs that were selected first")
			r.recordPoem(ctx, "hail", "Hail")
			change(ctx, r, r.role("poet"), prompt("You write haikus."))
			Eventually(r.evaluation("poems")).WithContext(ctx).Should(HaveStatus(And(HavePrefix("Failed"), ContainSubstring("regressions: 2 (at most 0)"))))
			Expect(must(ctx, r.role("poet")).Status.PromotedRevision).To(Equal(second.PromotedRevision))

			By("promoting nothing that leaves the record")
			change(ctx, r, r.role("poet"), prompt("You count twice."))
			Eventually(r.evaluation("poems")).WithContext(ctx).Should(HaveStatus(And(HavePrefix("Inconclusive"), ContainSubstring("no run of the candidate has an outcome"))))
			Eventually(r.role("poet")).WithContext(ctx).Should(HaveStatus(ContainSubstring("True EvaluationFailed")))
			Expect(must(ctx, r.evaluation("poems")).Status.Cases[0].Message).To(HavePrefix("Diverged: "))
		})

		It("an evaluation continues after a restart, and a candidate that a person rolled back stays so", func(ctx SpecContext) {
			r := w.newNamespace(ctx)
			r.create(ctx, MakeGatedRole("poet", "You write odes."))
			r.promoted(ctx, "poet", upToDate)
			r.recordPoems(ctx)
			evaluation := MakeEvaluation("poems")
			repeats := int32(3)
			evaluation.Spec.Repeats = &repeats
			r.create(ctx, evaluation)
			change(ctx, r, r.role("poet"), func(role *v1beta1.AgentRole) {
				role.Spec.SystemPrompt, role.Spec.Promotion.Evaluation = "You write sonnets.", "poems"
			})
			Eventually(func(ctx context.Context) int { return len(r.lanes(ctx, "poems")) }).WithContext(ctx).ShouldNot(BeZero())
			w.restartOperator(ctx)
			promoted := r.promoted(ctx, "poet", upToDate)
			status := must(ctx, r.evaluation("poems")).Status
			Expect(status.Verdict).To(Equal(v1beta1.VerdictPassed))
			Expect(status.Candidate.Passed + status.Baseline.Failed).To(BeEquivalentTo(12))
			Expect(r.lanes(ctx, "poems")).To(HaveLen(12))

			change(ctx, r, r.role("poet"), promotes(promoted.PreviousRevision, "1"))
			Eventually(r.role("poet")).WithContext(ctx).Should(HaveStatus(ContainSubstring("True RolledBack")))
			r.create(ctx, MakeTask("after", "Submit one").Role("poet").Obj())
			Expect(r.systemPrompt(ctx, "after")).To(HavePrefix("You write odes."))
			Expect(must(ctx, r.role("poet")).Status.PromotedRevision).To(Equal(promoted.PreviousRevision))
		})

		It("an isolated role judges each run once, although the operator is killed meanwhile", func(ctx SpecContext) {
			r := w.newNamespace(ctx)
			role, critic := MakeGatedRole("poet", "You write odes."), makeCritic("You judge poems.")
			role.Spec.Promotion.Evaluation, critic.Spec.ModelProvider = "poems", "court"
			silent, requests := silentModel()
			r.create(ctx, role, critic, MakeProvider("court", silent).Obj())
			first := r.promoted(ctx, "poet", upToDate)
			r.recordPoems(ctx)
			r.create(ctx, makeJudged("poems"))
			change(ctx, r, r.role("poet"), prompt("You write sonnets."))
			Eventually(func() int { return len(requests) }).WithContext(ctx).ShouldNot(BeZero())
			Expect(w.Operator.Kill()).To(Succeed())
			change(ctx, r, r.provider("court"), func(provider *v1beta1.ModelProvider) { provider.Spec.BaseURL = r.ModelURL })
			Expect(w.StartOperator(ctx)).To(Succeed())

			second := r.promoted(ctx, "poet", upToDate)
			Expect(second.PreviousRevision).To(Equal(first.PromotedRevision))
			status := must(ctx, r.evaluation("poems")).Status
			Expect(status).To(And(HaveField("Verdict", v1beta1.VerdictPassed), HaveField("CompletedTasks", BeEquivalentTo(8)), HaveField("TotalTasks", BeEquivalentTo(8))))
			Expect(status.JudgeRevision).To(Equal(r.promoted(ctx, "critic", upToDate).CurrentRevision))
			Expect(status.Baseline).To(And(HaveField("Passed", BeZero()), HaveField("Failed", BeEquivalentTo(2))), "the judge does not like odes")
			Expect(status.Candidate.Passed).To(BeEquivalentTo(2))
			var judges, tokens int64
			for _, task := range r.lanes(ctx, "poems") {
				Expect(metav1.IsControlledBy(&task, must(ctx, r.evaluation("poems")))).To(BeTrue())
				if task.Spec.Role != "critic" {
					tokens += task.Status.Usage.TotalTokens
					continue
				}
				judges++
				Expect(task.Spec.Instruction).To(And(ContainSubstring("Write a poem about"), ContainSubstring(`"text": "A`), Not(ContainSubstring("calculator"))))
				Expect(task.Spec.ContentLabels).To(ConsistOf(v1beta1.ContentLabel(v1beta1.ContentUntrusted)))
				Expect(task.Status).To(And(HaveField("Phase", v1beta1.TaskSuccess), HaveField("RoleRevision", status.JudgeRevision)))
				Expect(must(ctx, w.requestsOf(r.agent(ctx, task.Name).UID))).To(HaveLen(1), task.Name)
			}
			Expect(judges).To(BeEquivalentTo(4))
			Expect(status.Baseline.TotalTokens+status.Candidate.TotalTokens).To(Equal(tokens), "those of the judge are not counted")

			By("judging the next candidate anew")
			change(ctx, r, r.role("poet"), prompt("You write odes again."))
			Eventually(r.evaluation("poems")).WithContext(ctx).Should(HaveStatus(And(HavePrefix("Failed"), ContainSubstring("regressions: 2 (at most 0)"))))
			Expect(r.lanes(ctx, "poems")).To(HaveLen(8), "those of the earlier candidate were deleted")
			Expect(must(ctx, r.evaluation("poems")).Status.Cases[0].Message).To(Equal("expect[0] is false."))
		})

		It("a judge that cannot judge delays an evaluation, and one that fails makes runs inconclusive", func(ctx SpecContext) {
			r := w.newNamespace(ctx)
			r.create(ctx, MakeGatedRole("poet", "You write odes."))
			r.promoted(ctx, "poet", upToDate)
			r.recordPoems(ctx)
			alone := makeJudged("alone")
			alone.Spec.Cases[0].Expect = alone.Spec.Cases[0].Expect[:1]
			r.create(ctx, alone, makeJudged("poems"))
			Eventually(r.evaluation("alone")).WithContext(ctx).Should(HaveStatus(ContainSubstring("False InvalidExpression: spec.cases[0].expect: a judge must not decide alone")))
			Eventually(r.evaluation("poems")).WithContext(ctx).Should(HaveStatus(ContainSubstring("False RoleNotFound: spec.judge: create the AgentRole critic")))
			change(ctx, r, r.role("poet"), prompt("You write sonnets."))
			open := makeCritic("You judge nothing.")
			open.Spec.Isolated = false
			r.create(ctx, open)
			Eventually(r.evaluation("poems")).WithContext(ctx).Should(HaveStatus(ContainSubstring("False InvalidSpec: spec.judge: the role critic is not isolated")))
			Expect(r.lanes(ctx, "poems")).To(BeEmpty())
			change(ctx, r, r.role("critic"), func(role *v1beta1.AgentRole) { role.Spec.Isolated = true })
			Eventually(r.evaluation("poems")).WithContext(ctx).Should(HaveStatus(And(HavePrefix("Inconclusive"), ContainSubstring("no run of the candidate has an outcome"))))
			status := must(ctx, r.evaluation("poems")).Status
			Expect(status.Cases[0]).To(And(HaveField("Outcome", v1beta1.CaseInconclusive), HaveField("Message", HavePrefix("The judge has no result: "))))
			Expect(status.Candidate).To(And(HaveField("Failed", BeZero()), HaveField("Inconclusive", BeEquivalentTo(2))))
		})

		It("a judge that changes judges all runs again before the verdict, and none after it", func(ctx SpecContext) {
			r := w.newNamespace(ctx)
			role, critic := MakeGatedRole("poet", "You write odes."), makeCritic("You judge poems.")
			role.Spec.Promotion.Evaluation, critic.Spec.ModelProvider = "poems", "court"
			silent, requests := silentModel()
			r.create(ctx, role, critic, MakeProvider("court", silent).Obj())
			r.promoted(ctx, "poet", upToDate)
			r.recordPoems(ctx)
			r.create(ctx, makeJudged("poems"))
			change(ctx, r, r.role("poet"), prompt("You write sonnets."))
			Eventually(func() int { return len(requests) }).WithContext(ctx).ShouldNot(BeZero())
			earlier := must(ctx, r.evaluation("poems")).Status.JudgeRevision
			change(ctx, r, r.role("critic"), func(critic *v1beta1.AgentRole) {
				critic.Spec.SystemPrompt, critic.Spec.ModelProvider = "You judge poems kindly.", ""
			})

			r.promoted(ctx, "poet", upToDate)
			judged := must(ctx, r.evaluation("poems")).Status
			Expect(judged.JudgeRevision).NotTo(Equal(earlier))
			tasks := r.lanes(ctx, "poems")
			Expect(tasks).To(HaveLen(8), "those of the earlier judge were deleted")
			var names []string
			for _, task := range tasks {
				names = append(names, task.Name)
				if task.Spec.Role == "critic" {
					Expect(task.Status.RoleRevision).To(Equal(judged.JudgeRevision))
				}
			}

			change(ctx, r, r.role("critic"), prompt("You judge nothing."))
			Eventually(r.role("critic")).WithContext(ctx).Should(HaveField("Status.CurrentRevision", Not(Equal(judged.JudgeRevision))))
			later := makeJudged("later")
			r.create(ctx, later)
			Eventually(r.evaluation("later")).WithContext(ctx).Should(HaveStatus(ContainSubstring("True Ready")))
			Expect(must(ctx, r.evaluation("poems")).Status).To(Equal(judged))
			for _, task := range r.lanes(ctx, "poems") {
				Expect(task.Name).To(BeElementOf(names))
			}
		})

		It("the namespace of an evaluation can be deleted, whatever is pinned", func(ctx SpecContext) {
			r := w.newNamespace(ctx)
			silent, requests := silentModel()
			r.create(ctx, MakeGatedRole("poet", "You write odes."))
			r.promoted(ctx, "poet", upToDate)
			r.recordPoems(ctx)
			r.create(ctx, MakeEvaluation("poems"))
			change(ctx, r, r.provider("default"), func(provider *v1beta1.ModelProvider) { provider.Spec.BaseURL = silent })
			waitForObserved(ctx, r.provider("default"))
			change(ctx, r, r.role("poet"), prompt("You write sonnets."))
			Eventually(func() int { return len(requests) }).WithContext(ctx).ShouldNot(BeZero())
			origin := string(r.agent(ctx, "rain").UID)
			var agents []ledger.Agent
			var namespace corev1.Namespace
			Expect(w.API.Get(ctx, client.ObjectKey{Name: r.namespace}, &namespace)).To(Succeed())
			Expect(w.API.Delete(ctx, &namespace)).To(Succeed())
			Eventually(func(ctx context.Context) error {
				return w.API.Get(ctx, client.ObjectKey{Name: r.namespace}, &namespace)
			}).WithContext(ctx).Should(Satisfy(apierrors.IsNotFound))
			Eventually(func(ctx context.Context) ([]ledger.Agent, error) {
				list, err := w.history.Agents(ctx, ledger.AgentFilter{Scope: ledger.Scope{Namespace: r.namespace}}, ledger.Page{})
				agents = list.Items
				return list.Items, err
			}).WithContext(ctx).Should(HaveEach(WithTransform(ledger.Agent.Live, BeFalse())))
			Expect(agents).To(ContainElement(HaveField("UID", origin)), "the record of a case stays until its pin ends")
		})

		It("an evaluation that cannot be made says why", func(ctx SpecContext) {
			r := w.newNamespace(ctx)
			r.create(ctx, MakeEvaluation("poems"))
			Eventually(r.evaluation("poems")).WithContext(ctx).Should(HaveStatus(ContainSubstring("False RoleNotFound")))
			r.create(ctx, MakeRole("poet").Prompt("You write odes.").Obj())
			Eventually(r.evaluation("poems")).WithContext(ctx).Should(HaveStatus(ContainSubstring("False InvalidSpec: The role poet is not gated")))
			change(ctx, r, r.role("poet"), func(role *v1beta1.AgentRole) {
				role.Spec.Promotion = &v1beta1.RolePromotion{Mode: v1beta1.PromotionGated}
			})
			Eventually(r.evaluation("poems")).WithContext(ctx).Should(HaveStatus(ContainSubstring("False CasesNotFound: Cases without a recorded run: poems")))
			r.recordPoems(ctx)
			Eventually(r.evaluation("poems")).WithContext(ctx).Should(HaveStatus(ContainSubstring("True Ready: The cases have")))
			wrong := MakeEvaluation("wrong")
			wrong.Spec.Cases[0].Expect = []string{"result.txt == ''"}
			r.create(ctx, wrong)
			Eventually(r.evaluation("wrong")).WithContext(ctx).Should(HaveStatus(ContainSubstring("False InvalidExpression: spec.cases[0].expect[0]: line 1")))
		})
	})
}
