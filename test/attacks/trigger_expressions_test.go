// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package attacks

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

// repeatedList returns a condition over a list whose values occur 8^13 times.
func repeatedList(condition string) string {
	return "[[1]]" + strings.Repeat(".map(a, [a,a,a,a,a,a,a,a])", 13) + ".exists(d, " + condition + ")"
}

// costlyAttack is an attack with a condition that would take hours for a request. The control has one of the same kind
// that does not.
func costlyAttack(name, attempt, when, body, cheap string) attack {
	evaluate := func(t *testing.T, w *target, when, body string) (*testNamespace, string) {
		r := w.newNamespace(t)
		r.hook("hook", v1beta1.WebhookGeneric, when)
		return r, r.hookOutcome(r.signed("hook", body, "msg-1", time.Now()))
	}
	return attack{
		name: name, attempt: attempt, defence: "the operator counts what an expression traverses, and ends the evaluation at a limit",
		run: func(t *testing.T, w *target) {
			r, outcome := evaluate(t, w, when, body)
			r.Expect(outcome).To(Equal("Dropped " + string(v1beta1.DropExpressionFailed)))
		},
		control: func(t *testing.T, w *target) {
			r, outcome := evaluate(t, w, cheap, hookBody)
			r.Expect(outcome).To(Equal("Fired"))
		},
	}
}

// compileAttack is an attack with a condition that would take the compiler hours.
func compileAttack(name, attempt, when, cheap string) attack {
	condition := func(t *testing.T, w *target, when string) (*testNamespace, func() (metav1.Condition, error)) {
		r := w.newNamespace(t)
		r.Create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "hook"}, StringData: map[string]string{"token": hookSecret}},
			&v1beta1.AgentTrigger{ObjectMeta: metav1.ObjectMeta{Name: "hook"}, Spec: v1beta1.AgentTriggerSpec{
				Webhook: &v1beta1.TriggerWebhook{When: when, SecretKeyRef: v1beta1.SecretKeyRef{Name: "hook", Key: "token"}},
				Task:    &v1beta1.TriggerTask{Role: "general", Instruction: "Submit done"},
			}})
		return r, r.triggerReady("hook")
	}
	return attack{
		name: name, attempt: attempt, defence: "expressions are bounded before they are compiled",
		run: func(t *testing.T, w *target) {
			r, ready := condition(t, w, when)
			r.Eventually(ready).Should(HaveField("Reason", v1beta1.ReasonInvalidExpression))
		},
		control: func(t *testing.T, w *target) {
			r, ready := condition(t, w, cheap)
			r.Eventually(ready).Should(HaveField("Reason", v1beta1.ReasonReady))
		},
	}
}

var _ = class(
	"triggers",
	costlyAttack("a comparison takes hours", "mallory compares lists that contain another list eight times, in thirteen levels",
		repeatedList("d == d"), hookBody, "body == {'status': 'failed'}"),
	costlyAttack("a search takes hours", "mallory searches a list in a list, with in", repeatedList("d in [d]"), hookBody, "body.status in ['failed']"),
	costlyAttack("a list takes all memory", "mallory adds a list to itself, again and again",
		"[[1]]"+strings.Repeat(".map(a, a + a + a + a + a + a + a + a)", 13)+".exists(d, d == [])", hookBody, "[1] + [2] == [1, 2]"),
	costlyAttack("a sender's regular expression takes hours", "mallory sends a pattern and a text to a trigger that matches one with the other",
		"body.text.matches(body.pattern)", `{"text": "`+strings.Repeat("a", 100_000)+`", "pattern": "`+strings.Repeat("(a?){100}", 10)+`b"}`,
		"body.status.matches('^fail')"),
	costlyAttack("a large body takes all processors", "mallory sends a body with a hundred thousand values",
		"body.size() > 0", "["+strings.Repeat("0,", 100_000)+"0]", "body.size() > 0"),
	compileAttack("a chain of macros takes all memory", "mallory repeats a macro that copies its operand thirty times",
		"optional.of(1)"+strings.Repeat(".optMap(x, x)", 30)+".hasValue()", "optional.of(1).hasValue()"),
	compileAttack("a type takes all memory", "mallory uses maps as keys of maps, ten times",
		"[1]"+strings.Repeat(".map(a, {a: a})", 10)+".size() > 0", "{body.status: 1}.size() > 0"),
	attack{
		name:    "costly triggers stop all others",
		attempt: "mallory fires eight triggers with costly expressions at the same time, again and again",
		defence: "the operator evaluates outside the workers that act on firings, a few of each namespace at a time",
		run: func(t *testing.T, w *target) {
			mallory, r := w.newNamespace(t), w.newNamespace(t)
			r.hook("hook", v1beta1.WebhookGeneric, "")
			var costly sync.WaitGroup
			for i := range 8 {
				name := fmt.Sprintf("costly-%d", i)
				mallory.hook(name, v1beta1.WebhookGeneric, repeatedList("d == d"))
				for id := range 4 {
					costly.Go(func() { mallory.hookOutcome(mallory.signed(name, hookBody, fmt.Sprint(id), time.Now())) })
				}
			}
			defer costly.Wait()
			r.Expect(r.hookOutcome(signedOne(r))).To(Equal("Fired"))
			r.Eventually(r.startedTasks).Should(BeEquivalentTo(1))
		},
		control: inNamespace(func(r *testNamespace) {
			for i := range 8 {
				r.hook(fmt.Sprintf("hook-%d", i), v1beta1.WebhookGeneric, "body.status == 'failed'")
				r.Expect(r.hookOutcome(r.signed(fmt.Sprintf("hook-%d", i), hookBody, "msg-1", time.Now()))).To(Equal("Fired"))
			}
			r.Eventually(r.startedTasks).Should(BeEquivalentTo(8))
		}),
	},
)

// startedTasks returns the number of tasks in the room that have started.
func (r *testNamespace) startedTasks() (int, error) {
	var tasks v1beta1.AgentTaskList
	if err := r.List(&tasks); err != nil {
		return 0, err
	}
	started := 0
	for _, task := range tasks.Items {
		if task.Status.StartTime != nil {
			started++
		}
	}
	return started, nil
}
