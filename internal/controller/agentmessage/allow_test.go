// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agentmessage

import (
	"testing"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/agent/pattern"
)

func TestAllowancesThatAreRejected(t *testing.T) {
	ask := agent.AskPerson{Kind: agent.AskApproval, Tool: "write", Arguments: `{"path":"docs/a"}`}
	separated := ask
	separated.DenyRequesters = true
	policed := func(exact ...bool) agent.AskPerson {
		one := ask
		one.Policy = &agent.CallVerdict{}
		for _, e := range exact {
			one.Policy.Rules = append(one.Policy.Rules, agent.Verdict{Action: agent.PolicyRequireApproval, ExactAllowance: e})
		}
		return one
	}
	docs := []pattern.Argument{{Name: "path", Pattern: "docs/*"}}
	for name, tc := range map[string]struct {
		ask      agent.AskPerson
		patterns []pattern.Argument
		existing int
		want     string
	}{
		"matches":                {ask, docs, agent.MaxAllowances - 1, ""},
		"any arguments":          {ask, nil, 0, ""},
		"other arguments":        {ask, []pattern.Argument{{Name: "path", Pattern: "src/*"}}, 0, v1beta1.ReasonAllowanceMismatch},
		"no such argument":       {ask, []pattern.Argument{{Name: "file", Pattern: "*"}}, 0, v1beta1.ReasonAllowanceMismatch},
		"too many":               {ask, docs, agent.MaxAllowances, v1beta1.ReasonAllowanceLimit},
		"rules with allowances":  {policed(true, true), docs, 0, ""},
		"a rule without":         {policed(true, false), docs, 0, v1beta1.ReasonAllowanceMismatch},
		"a role with separation": {separated, docs, 0, v1beta1.ReasonRequesterDenied},
	} {
		t.Run(name, func(t *testing.T) {
			got := ""
			if rejection := checkAllowance("chat-1", tc.ask, tc.patterns, tc.existing); rejection != nil {
				got = rejection.reason
			}
			if got != tc.want {
				t.Errorf("the reason is %q, want %q", got, tc.want)
			}
		})
	}
}
