// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package projection

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/conditions"
	"github.com/nestor-dev/nestor/internal/plainjson"
	"github.com/nestor-dev/nestor/internal/shorten"
)

// withCondition returns the conditions of an object with one of them set, and with those that follow from it.
func withCondition(all []metav1.Condition, kind string, c metav1.Condition, at agent.Time) []metav1.Condition {
	c.Message = shorten.Head(c.Message, maxCondition)
	return conditions.Set(all, kind, c, *moment(max(at, 1)))
}

func succeeded(s agent.State, w Work, generation int64) metav1.Condition {
	c := metav1.Condition{Type: v1beta1.ConditionSucceeded, Status: metav1.ConditionUnknown, ObservedGeneration: generation}
	switch w.standing(s) {
	case agent.StagePending:
		c.Reason, c.Message = w.pending()
	case agent.StageWaitingForUser:
		c.Reason, c.Message = v1beta1.ReasonWaitingForUser, "Answer with an AgentMessage: "+question(s)
	case agent.StageWaitingForApproval:
		c.Reason, c.Message = v1beta1.ReasonWaitingForApproval, "Decide with an AgentMessage about: "+string(plainjson.Unescape([]byte(approval(s).Text)))
	case agent.StageCompleted:
		c.Status, c.Reason, c.Message = metav1.ConditionTrue, v1beta1.ReasonSuccess, "The run ended with a result."
	case agent.StageFailed, agent.StageCancelled:
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, string(s.Outcome.Kind), s.Outcome.Error
	default:
		c.Reason, c.Message = v1beta1.ReasonRunning, "The run is active."
		if wait := s.QuotaWait(); wait != nil {
			c.Reason, c.Message = wait.Reason, wait.Message
		}
		if wait := s.WaitsForPolicies(); wait != "" {
			c.Reason, c.Message = v1beta1.ReasonPolicyNotReady, textPolicyWait(wait)
		}
	}
	return c
}

func textPolicyWait(problem string) string {
	return "A call waits until policies can judge it: " + problem
}

const providerRepaired = "The model provider works again. Create an AgentMessage to try again."

// repaired reports whether the provider became ready after the chat reported that the model could not answer, or
// whether the chat already reports that. Times in conditions are whole seconds.
func repaired(s agent.State, since *metav1.Time, reported *metav1.Condition) bool {
	switch {
	case since == nil || reported == nil || since.UnixMilli() <= int64(s.Turn.StartTime):
		return false
	case reported.Status == metav1.ConditionFalse:
		return reported.Reason == v1beta1.ReasonModelError && since.After(reported.LastTransitionTime.Time)
	}
	return reported.Message == providerRepaired
}

func ready(s agent.State, facts ChatFacts, old []metav1.Condition, generation int64) metav1.Condition {
	c := metav1.Condition{Type: v1beta1.ConditionReady, Status: metav1.ConditionTrue, Reason: v1beta1.ReasonReady,
		ObservedGeneration: generation, Message: "Create an AgentMessage to start."}
	switch {
	case facts.PostRefused != "":
		c.Status, c.Reason = metav1.ConditionFalse, v1beta1.ReasonPostRefused
		c.Message = "An answer cannot be posted, and is retried: " + facts.PostRefused
		return c
	case s.Hold != nil:
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, s.Hold.Reason, s.Hold.Message
		return c
	case s.Paused != nil:
		c.Reason, c.Message = string(s.Paused.Reason), s.Paused.Text
	}
	if wait := s.QuotaWait(); wait != nil {
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, wait.Reason, wait.Message
		return c
	}
	if wait := s.WaitsForPolicies(); wait != "" {
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, v1beta1.ReasonPolicyNotReady, textPolicyWait(wait)
		return c
	}
	if s.TurnFailure == nil {
		return c
	}
	if s.TurnFailure.Kind == agent.ErrorModel && repaired(s, facts.ProviderReady, meta.FindStatusCondition(old, v1beta1.ConditionReady)) {
		c.Message = providerRepaired
		return c
	}
	switch s.TurnFailure.Kind {
	case agent.ErrorModel, agent.ErrorBudgetExhausted:
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, string(s.TurnFailure.Kind), s.TurnFailure.Reason
	}
	return c
}
