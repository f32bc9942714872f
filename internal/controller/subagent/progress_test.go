// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package subagent

import (
	"testing"

	"github.com/nestor-dev/nestor/api/v1alpha1"
)

func TestWhatMayBeShownLater(t *testing.T) {
	const active, waiting, asks = v1alpha1.SubAgentActive, v1alpha1.SubAgentWaitingForUser, v1alpha1.SubAgentAwaitingApproval
	for _, test := range []struct {
		before, next v1alpha1.SubAgentPhase
		later        bool
	}{
		{"", active, true}, {active, active, true}, {waiting, waiting, true}, {v1alpha1.SubAgentAwaitingSubAgents, active, true},
		{active, waiting, false}, {active, asks, false}, {waiting, active, false}, {asks, active, false}, {active, v1alpha1.SubAgentCompleted, false},
	} {
		if got := isProgress(v1alpha1.SubAgentStatus{Phase: test.before}, v1alpha1.SubAgentStatus{Phase: test.next}); got != test.later {
			t.Errorf("%q to %q: progress = %t", test.before, test.next, got)
		}
	}
	if isProgress(v1alpha1.SubAgentStatus{Phase: waiting, Question: "Which?"}, v1alpha1.SubAgentStatus{Phase: waiting, Question: "Why?"}) {
		t.Error("the next question counts as progress")
	}
}
