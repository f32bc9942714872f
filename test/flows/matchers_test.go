// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package flows

import (
	"fmt"

	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nestor-dev/nestor/api/v1alpha1"
)

// standing is the common part of the status of all kinds.
type standing struct {
	phase string
	// main is the type of the main condition.
	main       string
	conditions []metav1.Condition
}

// standingOf reads the status of an object.
func standingOf(object any) (standing, bool) {
	switch o := object.(type) {
	case *v1alpha1.AgentChat:
		return standing{string(o.Status.Phase), v1alpha1.ConditionReady, o.Status.Conditions}, true
	case *v1alpha1.AgentMessage:
		return standing{string(o.Status.Phase), v1alpha1.ConditionSucceeded, o.Status.Conditions}, true
	case *v1alpha1.AgentTask:
		return standing{string(o.Status.Phase), v1alpha1.ConditionSucceeded, o.Status.Conditions}, true
	case *v1alpha1.SubAgent:
		return standing{string(o.Status.Phase), v1alpha1.ConditionSucceeded, o.Status.Conditions}, true
	case *v1alpha1.AgentRole:
		return standing{"", v1alpha1.ConditionReady, o.Status.Conditions}, true
	case *v1alpha1.ModelProvider:
		return standing{"", v1alpha1.ConditionReady, o.Status.Conditions}, true
	case *v1alpha1.ToolServer:
		return standing{"", v1alpha1.ConditionReady, o.Status.Conditions}, true
	case *v1alpha1.AgentQuota:
		return standing{"", v1alpha1.ConditionReady, o.Status.Conditions}, true
	}
	return standing{}, false
}

func (s standing) String() string {
	c := meta.FindStatusCondition(s.conditions, s.main)
	if c == nil {
		return s.phase + " (no condition)"
	}
	return fmt.Sprintf("%s (%s %s: %s)", s.phase, c.Status, c.Reason, c.Message)
}

// BeIn succeeds if an object is in a phase.
func BeIn[T ~string](phase T) types.GomegaMatcher {
	return HaveStanding(HavePrefix(string(phase) + " ("))
}

// BeDone succeeds if an object is in a phase, and its condition has the reason and contains the words.
func BeDone[T ~string](phase T, reason string, words ...string) types.GomegaMatcher {
	all := []types.GomegaMatcher{HavePrefix(string(phase) + " ("), ContainSubstring(" " + reason + ": ")}
	for _, word := range words {
		all = append(all, ContainSubstring(word))
	}
	return HaveStanding(And(all...))
}

// HaveStanding matches the status of an object: "Phase (Status Reason: Message)".
func HaveStanding(matcher types.GomegaMatcher) types.GomegaMatcher {
	return WithTransform(func(object any) (string, error) {
		s, ok := standingOf(object)
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

// Saying matches a message by its text.
func Saying(text string) types.GomegaMatcher {
	return HaveField("Spec.Content", ContainSubstring(text))
}

// ReplyingTo matches a message by the message that it answers.
func ReplyingTo(message string) types.GomegaMatcher { return HaveField("Spec.InReplyTo", message) }

// About matches a message by its task.
func About(task string) types.GomegaMatcher { return HaveField("Spec.About", task) }
