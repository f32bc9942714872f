// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package flows

import (
	"fmt"

	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

// objectStatus is the common part of the status of all kinds.
type objectStatus struct {
	phase string
	// condition is the type of the main condition.
	condition  string
	conditions []metav1.Condition
}

func statusOf(object any) (objectStatus, bool) {
	switch o := object.(type) {
	case *v1beta1.AgentChat:
		return objectStatus{string(o.Status.Phase), v1beta1.ConditionReady, o.Status.Conditions}, true
	case *v1beta1.AgentMessage:
		return objectStatus{string(o.Status.Phase), v1beta1.ConditionSucceeded, o.Status.Conditions}, true
	case *v1beta1.AgentTask:
		return objectStatus{string(o.Status.Phase), v1beta1.ConditionSucceeded, o.Status.Conditions}, true
	case *v1beta1.SubAgent:
		return objectStatus{string(o.Status.Phase), v1beta1.ConditionSucceeded, o.Status.Conditions}, true
	case *v1beta1.AgentRole:
		return objectStatus{"", v1beta1.ConditionReady, o.Status.Conditions}, true
	case *v1beta1.ModelProvider:
		return objectStatus{"", v1beta1.ConditionReady, o.Status.Conditions}, true
	case *v1beta1.ToolServer:
		return objectStatus{"", v1beta1.ConditionReady, o.Status.Conditions}, true
	case *v1beta1.ToolPolicy:
		return objectStatus{"", v1beta1.ConditionReady, o.Status.Conditions}, true
	case *v1beta1.AgentEvaluation:
		return objectStatus{string(o.Status.Verdict), v1beta1.ConditionReady, o.Status.Conditions}, true
	case *v1beta1.AgentTrigger:
		return objectStatus{"", v1beta1.ConditionReady, o.Status.Conditions}, true
	case *v1beta1.AgentQuota:
		return objectStatus{"", v1beta1.ConditionReady, o.Status.Conditions}, true
	}
	return objectStatus{}, false
}

func (s objectStatus) String() string {
	c := meta.FindStatusCondition(s.conditions, s.condition)
	if c == nil {
		return s.phase + " (no condition)"
	}
	return fmt.Sprintf("%s (%s %s: %s)", s.phase, c.Status, c.Reason, c.Message)
}

// BeIn succeeds if an object is in a phase.
func BeIn[T ~string](phase T) types.GomegaMatcher {
	return HaveStatus(HavePrefix(string(phase) + " ("))
}

// BeDone succeeds if an object is in a phase, and its condition has the reason and contains the words.
func BeDone[T ~string](phase T, reason string, texts ...string) types.GomegaMatcher {
	all := []types.GomegaMatcher{HavePrefix(string(phase) + " ("), ContainSubstring(" " + reason + ": ")}
	for _, word := range texts {
		all = append(all, ContainSubstring(word))
	}
	return HaveStatus(And(all...))
}

// HaveStatus matches the status of an object: "Phase (Status Reason: Message)".
func HaveStatus(matcher types.GomegaMatcher) types.GomegaMatcher {
	return WithTransform(func(object any) (string, error) {
		s, ok := statusOf(object)
		if !ok {
			return "", fmt.Errorf("%T has no status known to this suite", object)
		}
		return s.String(), nil
	}, matcher)
}

// HavePost succeeds if the operator has posted a matching message.
func HavePost(fields ...types.GomegaMatcher) types.GomegaMatcher {
	return ContainElement(And(fields...))
}

// WithText matches a message by its text.
func WithText(text string) types.GomegaMatcher {
	return HaveField("Spec.Content", ContainSubstring(text))
}

// ReplyingTo matches a message by the message that it answers.
func ReplyingTo(message string) types.GomegaMatcher { return HaveField("Spec.InReplyTo", message) }

// About matches a message by its task.
func About(task string) types.GomegaMatcher { return HaveField("Spec.Task", task) }
