// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package projection

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/agent"
)

func TestARetryIsVisible(t *testing.T) {
	config := subAgent()
	config.Limits.MaxRetries = 4
	failed := func(cause agent.RetryCause, wait agent.Millis) agent.ModelFailed {
		at := play(config).Clock.Now.Add(wait) + 1000 // play puts a second between two events
		return agent.ModelFailed{Call: "m1", Attempt: 1, Failure: agent.FailureRetry, Cause: cause, Message: "Slow down. ", RetryTime: at}
	}
	for name, tc := range map[string]struct {
		state       agent.State
		work        Work
		reason      string
		wantMessage string
	}{
		"a rate limit":         {state: play(config, failed(agent.CauseRateLimited, 30_000)), reason: v1beta1.ReasonRateLimited, wantMessage: "Attempt 1 of 5 of the model call failed: Slow down. The next attempt begins at 1970-01-01T00:00:3"},
		"an outage":            {state: play(config, failed(agent.CauseUnavailable, 30_000)), reason: v1beta1.ReasonProviderUnavailable, wantMessage: "Slow down"},
		"another failure":      {state: play(config, failed("", 30_000)), reason: v1beta1.ReasonRetrying, wantMessage: "Slow down"},
		"a short wait":         {state: play(config, failed(agent.CauseRateLimited, 900))},
		"the next attempt":     {state: play(config, failed(agent.CauseRateLimited, 900), agent.Woke{})},
		"a call in flight":     {state: play(config)},
		"a queue":              {state: play(config), work: Work{Queued: &Queue{Provider: "ns/default", Since: 5000}}, reason: v1beta1.ReasonQueuedForProvider, wantMessage: "at the provider ns/default"},
		"a queue that is over": {state: play(config, replies("done")("m1")), work: Work{Queued: &Queue{Provider: "ns/default"}}},
	} {
		t.Run(name, func(t *testing.T) {
			sub, task := shown(tc.work, tc.state)
			for _, conditions := range [][]metav1.Condition{sub.Status.Conditions, task.Status.Conditions} {
				c := meta.FindStatusCondition(conditions, v1beta1.ConditionReconciling)
				if tc.reason == "" && c != nil {
					t.Errorf("the condition is %+v, want none", c)
				}
				if tc.reason != "" && (c == nil || c.Status != "True" || c.Reason != tc.reason || !strings.Contains(c.Message, tc.wantMessage) || c.ObservedGeneration != 3) {
					t.Errorf("the condition is %+v, want %s with %q", c, tc.reason, tc.wantMessage)
				}
			}
			TaskRun(task).Show(play(config), Work{})
			if c := meta.FindStatusCondition(task.Status.Conditions, v1beta1.ConditionReconciling); c != nil {
				t.Errorf("the condition is %+v although the call continues", c)
			}
		})
	}
}

func TestChatShowsProviderWait(t *testing.T) {
	s := play(agent.Config{Kind: agent.Orchestrator, Name: "chat", Limits: agent.Limits{MaxRetries: 2}}, agent.MessageArrived{Message: "m", Text: "hi"},
		agent.ModelFailed{Call: "m1", Attempt: 1, Failure: agent.FailureRetry, Cause: agent.CauseRateLimited, Message: "later", RetryTime: 90_000})
	status := Chat(s, ChatFacts{}, v1beta1.AgentChatStatus{}, 1)
	c := meta.FindStatusCondition(status.Conditions, v1beta1.ConditionReconciling)
	if c == nil || c.Reason != v1beta1.ReasonRateLimited || !strings.Contains(c.Message, "1970-01-01T00:01:30Z") {
		t.Errorf("the condition is %+v", c)
	}
	if !meta.IsStatusConditionTrue(status.Conditions, v1beta1.ConditionReady) {
		t.Error("a chat that waits for its provider is not Ready, although it accepts messages")
	}
}
