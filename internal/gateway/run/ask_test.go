// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package run

import "testing"

func TestParseDecision(t *testing.T) {
	type decision struct {
		approve bool
		comment string
		ok      bool
	}
	for text, want := range map[string]decision{
		"approve":                   {approve: true, ok: true},
		"  Approve \n":              {approve: true, ok: true},
		"APPROVED!":                 {approve: true, ok: true},
		"yes, go on":                {approve: true, comment: "go on", ok: true},
		"allow: it is safe":         {approve: true, comment: "it is safe", ok: true},
		"accept.thanks a lot":       {approve: true, comment: "thanks a lot", ok: true},
		"deny":                      {ok: true},
		"No. Use another name.":     {comment: "Use another name.", ok: true},
		"reject because it is late": {comment: "because it is late", ok: true},
		"decline\nnot today":        {comment: "not today", ok: true},
		"no, yes":                   {comment: "yes", ok: true},
		"":                          {},
		"   ":                       {},
		"perhaps":                   {},
		"yesterday":                 {},
		"nothing":                   {},
		"approver":                  {},
		"I approve":                 {},
		"do not approve":            {},
		"!yes":                      {},
	} {
		var got decision
		got.approve, got.comment, got.ok = ParseDecision(text)
		if got != want && (got.ok || want.ok || got.approve) { // the comment means nothing without a decision
			t.Errorf("%q: %+v, want %+v", text, got, want)
		}
	}
}
