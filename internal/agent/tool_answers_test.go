// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// Invariant 12. In the simulation, people write "hello" and nothing else.
func answersReachTools(t *rapid.T) func(step) {
	return func(s step) {
		for _, item := range s.after.Outbox {
			ofTool := slices.ContainsFunc(s.after.Asks, func(a Ask) bool { return a.OfTool && a.Agent == item.Agent && a.Call == item.Call })
			if item.Kind == ItemReply && ofTool && item.Text != "hello" {
				t.Fatalf("a tool gets the answer %q", item.Text)
			}
		}
	}
}

func TestQuotes(t *testing.T) {
	const text = "\nI know: the blue one, in Z\u00fcrich.\nno"
	for answer, want := range map[string]bool{
		"I know": true, "the blue one, in Z\u00fcrich.": true, "no": true, "Z\u00fcrich.\nno": true,
		"": false, "kno": false, "Z": false, "blue, one": false, "The blue one": false, "the blue one!": false,
	} {
		if got := quotes(answer, text); got != want {
			t.Errorf("quotes(%q) = %t", answer, got)
		}
	}
}
