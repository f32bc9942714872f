// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package workspace_test

import (
	"strings"
	"testing"

	"github.com/nestor-dev/nestor/internal/tool"
)

func TestResultsHaveDiff(t *testing.T) {
	c := serve(t, map[string]string{"a.txt": "one\ntwo\n", "pic": "\x00", "latin": "caf\xe9\n"})
	long := strings.Repeat("a line\n", tool.MaxDiff/7)
	for _, step := range []struct {
		name, tool string
		args       args
		want       string
	}{
		{"replaced", "write", args{"path": "a.txt", "content": "one\n2\n"}, "@@ -1,2 +1,2 @@\n one\n-two\n+2\n"},
		// A call that was interrupted is repeated: no difference is not what it changed.
		{"repeated", "write", args{"path": "a.txt", "content": "one\n2\n"}, ""},
		{"created", "write", args{"path": "b.txt", "content": "new\n"}, ""},
		{"emptied", "write", args{"path": "b.txt", "content": ""}, "@@ -1 +0,0 @@\n-new\n"},
		{"too long", "write", args{"path": "b.txt", "content": long}, ""},
		{"from binary", "write", args{"path": "pic", "content": "text\n"}, ""},
		{"from another encoding", "write", args{"path": "latin", "content": "text\n"}, ""},
		{"patched", "patch", args{"path": "a.txt", "edits": []args{{"old_string": "one", "new_string": "1"}}}, "@@ -1,2 +1,2 @@\n-one\n+1\n 2\n"},
	} {
		result, err := c.try(t.Context(), step.tool, step.args)
		if err != nil || result.IsError {
			t.Fatalf("%s: %v %v", step.name, err, result)
		}
		if got, _ := result.Meta[tool.DiffMeta].(string); got != step.want {
			t.Errorf("%s: got %.200q, want %q", step.name, got, step.want)
		}
		if strings.Contains(resultText(result), "@@") {
			t.Errorf("%s: the model gets the difference: %s", step.name, resultText(result))
		}
	}
}
