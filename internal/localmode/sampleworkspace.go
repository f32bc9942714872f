// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package localmode

import (
	"context"
	"fmt"
	"strconv"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

// samplePolicy is the name of the policy that gives chats the sample project.
const samplePolicy = "nestor-demo-workspace"

// furnishChats gives every chat without a workspace the sample project, however the chat is made: in the page, with kubectl nestor or with
// kubectl. A policy of the API server does it, so that the chat's spec shows it.
func (l *Local) furnishChats(ctx context.Context) error {
	policy := &admissionv1.MutatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: samplePolicy}}
	err := l.put(ctx, policy, func() error {
		policy.Spec = admissionv1.MutatingAdmissionPolicySpec{
			MatchConstraints: &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{{
				RuleWithOperations: admissionv1.RuleWithOperations{
					Operations: []admissionv1.OperationType{admissionv1.Create},
					Rule:       admissionv1.Rule{APIGroups: []string{v1beta1.GroupVersion.Group}, APIVersions: []string{"*"}, Resources: []string{"agentchats"}},
				},
			}}},
			MatchConditions:    []admissionv1.MatchCondition{{Name: "no-workspace", Expression: "!has(object.spec) || !has(object.spec.workspace)"}},
			ReinvocationPolicy: admissionv1.NeverReinvocationPolicy,
			Mutations: []admissionv1.Mutation{{
				PatchType: admissionv1.PatchTypeApplyConfiguration,
				ApplyConfiguration: &admissionv1.ApplyConfiguration{Expression: fmt.Sprintf(
					"Object{spec: Object.spec{workspace: Object.spec.workspace{directory: Object.spec.workspace.directory{path: %s}}}}", strconv.QuoteToASCII(l.Sample))},
			}},
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("give new chats the sample project: %w", err)
	}
	return l.ensure(ctx, &admissionv1.MutatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: samplePolicy},
		Spec:       admissionv1.MutatingAdmissionPolicyBindingSpec{PolicyName: samplePolicy},
	})
}
