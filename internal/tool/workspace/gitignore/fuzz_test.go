// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package gitignore_test

import (
	"strings"
	"testing"

	"github.com/nestor-dev/nestor/internal/tool/workspace/gitignore"
)

// FuzzIgnored: any content is a valid ignore file and any path has a result; a last rule that includes everything
// must win.
func FuzzIgnored(f *testing.F) {
	for _, content := range []string{"*.log\n!keep.log\n", "/build/\n", "a/**/b\n**/c", "[a-z]*\\", "a[b/c]d\n[[:alpha:]]", strings.Repeat("*a", 50), "\xff\xfe[\x80-\xff]"} {
		f.Add(content, "a/b/c")
		f.Add(content, strings.Repeat("a", 200))
	}
	f.Fuzz(func(t *testing.T, content, path string) {
		path = strings.Trim(path, "/")
		if path == "" || strings.Contains(path, "//") {
			t.Skip()
		}
		var stack *gitignore.Stack
		stack = stack.Push(".", gitignore.Parse(content))
		// Only check that it does not panic.
		_ = stack.Ignored(path, true)
		_ = stack.Ignored(path, false)
		all := (*gitignore.Stack)(nil).Push(".", gitignore.Parse(content+"\n!*\n"))
		if all.Ignored(path, false) || all.Ignored(path, true) {
			t.Errorf("%q is ignored although the last rule includes everything", path)
		}
		none := (*gitignore.Stack)(nil).Push(".", gitignore.Parse(content+"\n*\n"))
		if !none.Ignored(path, false) || !none.Ignored(path, true) {
			t.Errorf("%q is not ignored although the last rule ignores everything", path)
		}
	})
}
