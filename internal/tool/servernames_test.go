// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package tool

import (
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestServerNames(t *testing.T) {
	long := strings.Repeat("very-", 20) + "long"
	for _, c := range []struct{ server, tool, want string }{
		{"github", "create_issue", "github__create_issue"},
		{"github", "repo.list", "github__repo_list_e5ee9c1e"},
		{"team.github", "get", "team_github__get_f05e7618"},
		{"github", long, "github__very-very-very-very-very-very-very-very-very-ve_72069211"},
	} {
		if got := ServerToolName(ServerPrefix(c.server), c.tool); got != c.want {
			t.Errorf("%s of %s is %s, want %s", c.tool, c.server, got, c.want)
		}
	}
}

func TestServerNamesAreDistinct(t *testing.T) {
	valid := regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)
	rapid.Check(t, func(t *rapid.T) {
		server := rapid.StringMatching(`[a-z]([a-z0-9.-]{0,80}[a-z0-9])?`).Draw(t, "server")
		a, b := rapid.StringN(1, 100, -1).Draw(t, "a"), rapid.StringN(1, 100, -1).Draw(t, "b")
		nameA, nameB := ServerToolName(ServerPrefix(server), a), ServerToolName(ServerPrefix(server), b)
		if !valid.MatchString(nameA) {
			t.Fatalf("%q becomes %q", a, nameA)
		}
		if nameA != ServerToolName(ServerPrefix(server), a) {
			t.Fatalf("%q has two names", a)
		}
		if (a == b) != (nameA == nameB) {
			t.Fatalf("%q and %q become %q and %q", a, b, nameA, nameB)
		}
	})
}
