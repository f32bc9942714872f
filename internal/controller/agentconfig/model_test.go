// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agentconfig

import "testing"

func TestTheModelOfASubAgent(t *testing.T) {
	parent := ModelChoice{"chats", "large"}
	for name, test := range map[string]struct{ own, role, asker, want ModelChoice }{
		"nobody says anything":                  {want: ModelChoice{"default", ""}},
		"the agent that asked":                  {asker: parent, want: parent},
		"the role's model at the asker's place": {role: ModelChoice{"", "small"}, asker: parent, want: ModelChoice{"chats", "small"}},
		"another provider has its own default":  {role: ModelChoice{"fast", ""}, asker: parent, want: ModelChoice{"fast", ""}},
		"the role says both":                    {role: ModelChoice{"fast", "tiny"}, asker: parent, want: ModelChoice{"fast", "tiny"}},
		"the task comes before its role":        {own: ModelChoice{"own", "huge"}, role: ModelChoice{"fast", "tiny"}, want: ModelChoice{"own", "huge"}},
		"the task says only the provider":       {own: ModelChoice{"own", ""}, role: ModelChoice{"", "tiny"}, want: ModelChoice{"own", "tiny"}},
		"the task says only the model":          {own: ModelChoice{"", "huge"}, role: ModelChoice{"fast", "tiny"}, want: ModelChoice{"fast", "huge"}},
		"the provider of a chat, of an old log": {asker: ModelChoice{"chats", ""}, want: ModelChoice{"chats", ""}},
	} {
		if got := firstModel(test.own, test.role, test.asker); got != test.want {
			t.Errorf("%s: got %v, want %v", name, got, test.want)
		}
	}
}
