// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agentconfig

import "testing"

func TestModelOfSubAgent(t *testing.T) {
	parent := ModelChoice{"chats", "large"}
	for name, test := range map[string]struct{ own, role, asker, want ModelChoice }{
		"nothing is set":                            {want: ModelChoice{"default", ""}},
		"the parent's choice":                       {asker: parent, want: parent},
		"the role's model at the parent's provider": {role: ModelChoice{"", "small"}, asker: parent, want: ModelChoice{"chats", "small"}},
		"another provider has its own default":      {role: ModelChoice{"fast", ""}, asker: parent, want: ModelChoice{"fast", ""}},
		"the role sets both":                        {role: ModelChoice{"fast", "tiny"}, asker: parent, want: ModelChoice{"fast", "tiny"}},
		"the task overrides its role":               {own: ModelChoice{"own", "huge"}, role: ModelChoice{"fast", "tiny"}, want: ModelChoice{"own", "huge"}},
		"the task sets only the provider":           {own: ModelChoice{"own", ""}, role: ModelChoice{"", "tiny"}, want: ModelChoice{"own", "tiny"}},
		"the task sets only the model":              {own: ModelChoice{"", "huge"}, role: ModelChoice{"fast", "tiny"}, want: ModelChoice{"fast", "huge"}},
		"a parent from an old log, without a model": {asker: ModelChoice{"chats", ""}, want: ModelChoice{"chats", ""}},
	} {
		if got := firstModel(test.own, test.role, test.asker); got != test.want {
			t.Errorf("%s: got %v, want %v", name, got, test.want)
		}
	}
}
