// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package attacks

import (
	"fmt"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

// costlyCondition takes the compiler about as long as a condition may.
var costlyCondition = "[call.tool]" + strings.Repeat(".map(a, {a: a})", 4) + strings.Repeat(".map(a, [a])", 10) + ".exists(d, d == [call.arguments.missing])"

func (r *testNamespace) createPolicy(name, when string, rules int) {
	r.t.Helper()
	p := &v1beta1.ToolPolicy{ObjectMeta: metav1.ObjectMeta{Name: name}}
	for i := range rules {
		p.Spec.Rules = append(p.Spec.Rules, v1beta1.PolicyRule{Name: fmt.Sprintf("rule-%d", i), AllowWhen: when})
	}
	r.Create(p)
}

func (r *testNamespace) policyReady(name string) func() (string, error) {
	return func() (string, error) {
		var p v1beta1.ToolPolicy
		err := r.Get(name, &p)
		for _, c := range p.Status.Conditions {
			if c.Type == v1beta1.ConditionReady {
				return c.Reason, err
			}
		}
		return "", err
	}
}

// createSum creates a task that calls the calculator, which policies judge.
func (r *testNamespace) createSum(name string) {
	r.t.Helper()
	task := r.toolTask(name, "")
	task.Spec.Arguments = &runtime.RawExtension{Raw: []byte(`{"expression":"6 * 7"}`)}
	r.Create(task)
}

var _ = class(
	"policies",
	attack{
		name:    "costly policies stop the calls of others",
		attempt: "mallory creates more policies than are evaluated, each of which takes long to compile, and calls tools all the time",
		defence: "the operator compiles and evaluates a few policies of each namespace at a time, and no more than 64 of a namespace at all; " +
			"calls that a policy matches wait for it",
		run: func(t *testing.T, w *target) {
			mallory, r := w.newNamespace(t), w.newNamespace(t)
			for i := range 65 {
				mallory.createPolicy(fmt.Sprintf("costly-%02d", i), costlyCondition, 16)
			}
			for i := range 8 {
				mallory.createSum(fmt.Sprintf("sum-%d", i))
			}
			r.createPolicy("own", "call.tool == 'calculator'", 1)
			r.Eventually(r.policyReady("own")).Should(Equal(v1beta1.ReasonReady))
			r.createSum("sum")
			r.Eventually(r.TaskPhase("sum")).Should(Equal(v1beta1.TaskSuccess))
			r.Expect(mallory.policyReady("costly-63")()).To(BeEmpty(), "mallory's policies are still compiled")
			r.Eventually(mallory.policyReady("costly-64")).Should(Equal(v1beta1.ReasonTooManyPolicies))
			for i := range 8 {
				r.Expect(mallory.TaskPhase(fmt.Sprintf("sum-%d", i))()).NotTo(Equal(v1beta1.TaskSuccess), "a call that a policy matches ran before it was judged")
			}
		},
		control: inNamespace(func(r *testNamespace) {
			r.createPolicy("own", "call.tool == 'calculator'", 1)
			r.Eventually(r.policyReady("own")).Should(Equal(v1beta1.ReasonReady))
			r.createSum("allowed")
			r.Eventually(r.TaskPhase("allowed")).Should(Equal(v1beta1.TaskSuccess))
			r.createPolicy("costly", costlyCondition, 16) // it compiles, and fails without the argument
			r.Eventually(r.policyReady("costly")).Should(Equal(v1beta1.ReasonReady))
			r.createSum("denied")
			r.Eventually(r.TaskPhase("denied")).Should(Equal(v1beta1.TaskFailed))
		}),
	},
)
