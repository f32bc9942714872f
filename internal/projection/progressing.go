// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package projection

import (
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/conditions"
	"github.com/nestor-dev/nestor/internal/shorten"
)

const (
	// shortRetry is the longest wait for the next attempt that is not written to the status.
	shortRetry agent.Millis = 1000
	// maxWords bounds the length of the provider's message in a condition.
	maxWords = 600
)

// retryReasons maps the causes of retries to reasons, where they have one of their own.
var retryReasons = map[agent.RetryCause]string{
	agent.CauseRateLimited: v1beta1.ReasonRateLimited,
	agent.CauseUnavailable: v1beta1.ReasonProviderUnavailable,
}

// withProgress returns the conditions with Reconciling if a model call waits, and without it if none does.
func withProgress(all []metav1.Condition, kind string, s agent.State, w Work, generation int64) []metav1.Condition {
	reason, message := progress(s, w)
	if reason == "" {
		return conditions.Without(all, v1beta1.ConditionReconciling)
	}
	return withCondition(all, kind, metav1.Condition{Type: v1beta1.ConditionReconciling, Status: metav1.ConditionTrue,
		Reason: reason, Message: message, ObservedGeneration: generation}, s.Clock.Now)
}

// progress returns why the model call of an agent waits, or "" if it does not wait, or only briefly.
func progress(s agent.State, w Work) (reason, message string) {
	if s.Phase != agent.PhaseRequesting || s.ModelCall == nil {
		return "", ""
	}
	r := s.ModelCall
	switch {
	case r.RetryTime > s.Clock.Now.Add(shortRetry):
		reason, ok := retryReasons[r.Cause]
		if !ok {
			reason = v1beta1.ReasonRetrying
		}
		words := strings.TrimRight(shorten.Head(r.ProviderMessage, maxWords), ". ")
		return reason, fmt.Sprintf("Attempt %d of %d of the model call failed: %s. The next attempt begins at %s.",
			r.Attempt, s.Config.Limits.MaxRetries+1, words, clock(r.RetryTime))
	case r.RetryTime == 0 && w.Queued != nil:
		return v1beta1.ReasonQueuedForProvider, fmt.Sprintf("Attempt %d of the model call has been queued since %s at the provider %s, because other calls use up its limits. The attempt starts when capacity is free.",
			r.Attempt, clock(w.Queued.Since), w.Queued.Provider)
	}
	return "", ""
}

func clock(t agent.Time) string { return time.UnixMilli(int64(t)).UTC().Format(time.RFC3339) }
