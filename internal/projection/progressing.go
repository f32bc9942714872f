// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package projection

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nestor-dev/nestor/api/v1alpha1"
	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/shorten"
)

const (
	// shortRetry is how long a wait for the next attempt is not worth a write.
	shortRetry agent.Millis = 1000
	// maxWords bounds the provider's words in a condition.
	maxWords = 600
)

// retryReasons are the reasons of causes that have one of their own.
var retryReasons = map[agent.RetryCause]string{
	agent.CauseRateLimited: v1alpha1.ReasonRateLimited,
	agent.CauseUnavailable: v1alpha1.ReasonProviderUnavailable,
}

// withProgress returns the conditions with Progressing if a model call waits, and without it if none does.
func withProgress(conditions []metav1.Condition, s agent.State, w Work, generation int64) []metav1.Condition {
	reason, message := progress(s, w)
	if reason == "" {
		return slices.DeleteFunc(slices.Clone(conditions), func(c metav1.Condition) bool { return c.Type == v1alpha1.ConditionProgressing })
	}
	return withCondition(conditions, metav1.Condition{Type: v1alpha1.ConditionProgressing, Status: metav1.ConditionFalse,
		Reason: reason, Message: message, ObservedGeneration: generation}, s.Clock.Now)
}

// progress says what the model call of an agent waits for; nothing if it does not wait, or hardly.
func progress(s agent.State, w Work) (reason, message string) {
	if s.Phase != agent.PhaseRequesting || s.ModelCall == nil {
		return "", ""
	}
	r := s.ModelCall
	switch {
	case r.RetryAt > s.Clock.Now.Add(shortRetry):
		reason, known := retryReasons[r.Cause]
		if !known {
			reason = v1alpha1.ReasonRetrying
		}
		words := strings.TrimRight(shorten.Head(r.ProviderMessage, maxWords), ". ")
		return reason, fmt.Sprintf("Attempt %d of %d of the model call failed: %s. The next attempt begins at %s.",
			r.Attempt, s.Config.Limits.MaxRetries+1, words, clock(r.RetryAt))
	case r.RetryAt == 0 && w.Queued != nil:
		return v1alpha1.ReasonQueuedForProvider, fmt.Sprintf("Attempt %d of the model call waits since %s for its turn at the provider %s, whose limits other calls use up. The next attempt begins when they leave room.",
			r.Attempt, clock(w.Queued.Since), w.Queued.Provider)
	}
	return "", ""
}

func clock(t agent.Time) string { return time.UnixMilli(int64(t)).UTC().Format(time.RFC3339) }
