// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"os"
	"path/filepath"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

// starter compiles a policy of config/policies.
func starter(t *testing.T, name string) *Policy {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "config", "policies", name+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	p := &v1beta1.ToolPolicy{}
	if err := yaml.UnmarshalStrict(text, p); err != nil {
		t.Fatal(err)
	}
	return compile(t, p)
}

func TestStarterPolicies(t *testing.T) {
	const ask, noRemote, noPublishing = "RequireApproval writes-after-untrusted-content", "Deny no-remote-agents-after-untrusted-content",
		"Deny no-publishing-after-untrusted-content"
	write, read := Call{Tool: "box__write", Server: "box"}, Call{Tool: "box__read", Server: "box", ReadOnly: true}
	remote, local := Call{Tool: "delegate_to_agent", Role: "partner", Remote: true}, Call{Tool: "delegate_to_agent", Role: "coder", ReadOnly: true}
	publish := Call{Tool: "publish_changes"}
	for _, tc := range []struct {
		policy string
		call   Call
		labels []string
		writes int64
		want   string
	}{
		{"untrusted-writes", write, nil, 0, "Allow"},
		{"untrusted-writes", write, []string{"internal"}, 0, "Allow"},
		{"untrusted-writes", write, []string{"untrusted"}, 0, ask},
		{"untrusted-writes", write, []string{"internal", "overflow"}, 0, ask},
		{"untrusted-writes", read, []string{"untrusted"}, 0, "Allow"},
		{"untrusted-writes", local, []string{"untrusted"}, 0, "Allow"},
		{"untrusted-writes", remote, []string{"untrusted"}, 0, ask},
		{"untrusted-disclosure", remote, nil, 0, "Allow"},
		{"untrusted-disclosure", remote, []string{"untrusted"}, 0, noRemote},
		{"untrusted-disclosure", remote, []string{"overflow"}, 0, noRemote},
		{"untrusted-disclosure", local, []string{"untrusted"}, 0, "Allow"},
		{"untrusted-disclosure", write, []string{"untrusted"}, 0, "Allow"},
		{"untrusted-disclosure", publish, nil, 0, "Allow"},
		{"untrusted-disclosure", publish, []string{"untrusted"}, 0, noPublishing},
		{"untrusted-disclosure", publish, []string{"overflow"}, 0, noPublishing},
		{"production-writes", read, []string{"untrusted"}, 0, "Allow"},
		{"production-writes", local, nil, 0, "Allow"},
		{"production-writes", write, nil, 0, "RequireApproval writes-in-production"},
		{"write-limit", write, nil, 49, "Allow"},
		{"write-limit", write, nil, 50, "RequireApproval writes-of-one-tree"},
		{"write-limit", read, nil, 50, "Allow"},
	} {
		if got := actions(t, Input{Call: tc.call, Labels: tc.labels, Usage: Usage{Writes: tc.writes}}, starter(t, tc.policy)); got != tc.want {
			t.Errorf("%s: %s with the labels %v: %s, want %s", tc.policy, tc.call.Tool, tc.labels, got, tc.want)
		}
	}
}
