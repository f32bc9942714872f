// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package tool_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nestor-dev/nestor/internal/tool"
)

func TestPolicyGlobs(t *testing.T) {
	all := []string{"bash", "github__get_issue", "github__write", "read", "read_image", "write"}
	for _, c := range []struct {
		name   string
		policy tool.Policy
		want   []string
	}{
		{"nothing by default", tool.Policy{}, []string{}},
		{"empty allow", tool.Policy{Allow: []string{}}, []string{}},
		{"names", tool.Policy{Allow: []string{"read", "bash"}}, []string{"bash", "read"}},
		{"one server", tool.Policy{Allow: []string{"github__*"}}, []string{"github__get_issue", "github__write"}},
		{"deny wins", tool.Policy{Allow: []string{"*"}, Deny: []string{"*write", "bash"}}, []string{"github__get_issue", "read", "read_image"}},
		{"class and question mark", tool.Policy{Allow: []string{"rea?", "[bw]*"}}, []string{"bash", "read", "write"}},
		{"a name is not a prefix", tool.Policy{Allow: []string{"rea"}}, []string{}},
		{"malformed allow opens nothing", tool.Policy{Allow: []string{"[", "read"}}, []string{"read"}},
		{"malformed deny closes all", tool.Policy{Allow: []string{"*"}, Deny: []string{"[x"}}, []string{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := named(t, all...).Restrict(c.policy).Names()
			if diff := cmp.Diff(c.want, append([]string{}, got...)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestMalformedGlobsAreReported(t *testing.T) {
	if err := (tool.Policy{Allow: []string{"read", "[x"}}).Validate(); err == nil {
		t.Error("a malformed glob in allow is not reported")
	}
	if err := (tool.Policy{Deny: []string{"[x"}}).Validate(); err == nil {
		t.Error("a malformed glob in deny is not reported")
	}
	if err := (tool.Policy{Allow: []string{"*"}, Deny: []string{"github__*"}}).Validate(); err != nil {
		t.Error(err)
	}
}

func TestUnionRefusesTwoToolsOfOneName(t *testing.T) {
	if _, err := named(t, "read").Union(named(t, "grep"), named(t, "read")); err == nil {
		t.Error("two tools called read were accepted")
	}
}

func TestUnionKeepsWhatWasWithheld(t *testing.T) {
	restricted := named(t, "read", "write").Restrict(tool.Policy{Allow: []string{"read"}})
	union, err := named(t, "grep").Union(restricted)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"grep", "read"}, union.Names()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if result := execute(t, union, "write", ""); result.Failure != tool.Denied {
		t.Errorf("a withheld tool is %q, want Denied", result.Failure)
	}
}
