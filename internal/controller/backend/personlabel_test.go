// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package backend

import (
	"regexp"
	"testing"
)

// The statuses accept the label of any user name; they refuse a write as a whole otherwise.
func TestLabelOfAnyPersonIsValid(t *testing.T) {
	allowed := regexp.MustCompile("^([a-z0-9-]+|user:[!-~]+)$")
	for person, want := range map[string]string{
		"alice": "user:alice", "oidc:alice@example.com": "user:oidc:alice@example.com", "Zoë X": "user:Zo%C3%AB%20X", "a\nb": "user:a%0Ab",
	} {
		if got := labelOf(person); got != want || !allowed.MatchString(got) {
			t.Errorf("the label of %q is %q, want %q", person, got, want)
		}
	}
}
