// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package projection

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

func TestPreviewOfAMessage(t *testing.T) {
	text := func(content string) v1beta1.AgentMessageSpec { return v1beta1.AgentMessageSpec{Content: content} }
	for name, test := range map[string]struct {
		spec  v1beta1.AgentMessageSpec
		phase v1beta1.MessagePhase
		want  string
	}{
		"a text":             {text("Please write\n\nthe release notes."), v1beta1.MessageHandled, "Please write the release notes."},
		"a long text":        {text(strings.Repeat("abcdefgh", 50)), v1beta1.MessageHandled, strings.Repeat("abcdefgh", 6)[:43] + "…"},
		"control characters": {text("\x1b[31mred\u202e"), v1beta1.MessageHandled, "[31mred"},
		"an approval":        {v1beta1.AgentMessageSpec{Approval: &v1beta1.Approval{Task: "edit", Decision: v1beta1.DecisionApprove}}, v1beta1.MessageHandled, "Approve a call of edit"},
		"a denial": {v1beta1.AgentMessageSpec{Approval: &v1beta1.Approval{Task: "edit", Decision: v1beta1.DecisionDeny, Comment: "no"}}, v1beta1.MessageHandled,
			"Deny a call of edit: no"},
		"a cancel":   {v1beta1.AgentMessageSpec{Cancel: &v1beta1.Cancel{}}, v1beta1.MessageHandled, "Cancel everything"},
		"of a task":  {v1beta1.AgentMessageSpec{Cancel: &v1beta1.Cancel{Task: "edit"}}, v1beta1.MessageHandled, "Cancel edit"},
		"a rejected": {text("Green"), v1beta1.MessageRejected, "NotWaiting: Green"},
	} {
		t.Run(name, func(t *testing.T) {
			got := preview(test.spec, test.phase, v1beta1.ReasonNotWaiting)
			if got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
			if utf8.RuneCountInString(got) > 48 {
				t.Errorf("%q has more than the 48 characters that the API allows", got)
			}
		})
	}
}
