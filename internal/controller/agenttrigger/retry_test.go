// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agenttrigger

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

func TestWatchRetryDelay(t *testing.T) {
	began := time.Unix(1_700_000_000, 0)
	for after, want := range map[time.Duration]time.Duration{
		-time.Second: time.Second, 0: time.Second, 4 * time.Second: 4 * time.Second, 29 * time.Second: 29 * time.Second, time.Hour: 30 * time.Second,
	} {
		problem := &metav1.Condition{LastTransitionTime: metav1.NewTime(began)}
		if got := watchRetryDelay(problem, began.Add(after)); got != want {
			t.Errorf("%s after it began, the next check is in %s, want %s", after, got, want)
		}
	}
}

func TestWatchProblem(t *testing.T) {
	for reason, want := range map[string]bool{v1beta1.ReasonWatchNotAllowed: true, v1beta1.ReasonKindNotFound: true, v1beta1.ReasonInvalidSpec: false} {
		trigger := &v1beta1.AgentTrigger{}
		trigger.Status.Conditions = []metav1.Condition{{Type: v1beta1.ConditionReady, Status: metav1.ConditionFalse, Reason: reason}}
		if watchProblem(trigger) != nil {
			t.Errorf("%s: a trigger that watches nothing is checked again", reason)
		}
		trigger.Spec.Watch = &v1beta1.TriggerWatch{}
		if got := watchProblem(trigger) != nil; got != want {
			t.Errorf("%s: checked again: %t, want %t", reason, got, want)
		}
		trigger.Spec.Suspend = true
		if watchProblem(trigger) != nil {
			t.Errorf("%s: a suspended trigger is checked again", reason)
		}
	}
}
