// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package linediff_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nestor-dev/nestor/internal/linediff"
)

func TestUnified(t *testing.T) {
	for name, tc := range map[string]struct{ before, after, want string }{
		"equal":                {"a\n", "a\n", ""},
		"both empty":           {"", "", ""},
		"from nothing":         {"", "a\nb\n", "@@ -0,0 +1,2 @@\n+a\n+b\n"},
		"to nothing":           {"a\n", "", "@@ -1 +0,0 @@\n-a\n"},
		"a line":               {"a\nb\nc\n", "a\nx\nc\n", "@@ -1,3 +1,3 @@\n a\n-b\n+x\n c\n"},
		"line break added":     {"a", "a\n", "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n"},
		"line break removed":   {"a\n", "a", "@@ -1 +1 @@\n-a\n+a\n\\ No newline at end of file\n"},
		"context, two hunks":   {"1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n", "0\n1\n2\n3\n4\n5\n6\n7\n8\n9\n", "@@ -1,3 +1,4 @@\n+0\n 1\n 2\n 3\n@@ -7,4 +8,3 @@\n 7\n 8\n 9\n-10\n"},
		"near changes: a hunk": {"1\n2\n3\n4\n5\n6\n7\n8\n", "x\n2\n3\n4\n5\n6\n7\ny\n", "@@ -1,8 +1,8 @@\n-1\n+x\n 2\n 3\n 4\n 5\n 6\n 7\n-8\n+y\n"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := linediff.Unified(tc.before, tc.after); got != tc.want {
				t.Errorf("got:\n%s\nwant:\n%s", got, tc.want)
			}
		})
	}
}

// TestGitApplies applies differences of random texts with git, which checks every line and number.
func TestGitApplies(t *testing.T) {
	dir := t.TempDir()
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // it is reproducible
	text := func() string {
		var b strings.Builder
		for range random.IntN(40) {
			fmt.Fprintf(&b, "%c\n", 'a'+random.IntN(6))
		}
		return strings.TrimSuffix(b.String(), strings.Repeat("\n", random.IntN(2)))
	}
	for round := range 60 {
		before, after := text(), text()
		if before == after || before == "" || after == "" { // git describes a created or deleted file in the head
			continue
		}
		file := filepath.Join(dir, "f")
		if err := os.WriteFile(file, []byte(before), 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), "git", "apply", "--unidiff-zero", "-")
		cmd.Dir, cmd.Stdin = dir, strings.NewReader("--- a/f\n+++ b/f\n"+linediff.Unified(before, after))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("round %d: %v: %s\n%s", round, err, out, linediff.Unified(before, after))
		}
		if got, err := os.ReadFile(file); err != nil || string(got) != after {
			t.Fatalf("round %d: got %q, %v, want %q", round, got, err, after)
		}
	}
}

func TestLargeTextsAreComparedInTime(t *testing.T) {
	lines := func(prefix string) string {
		var b strings.Builder
		for i := range 100_000 {
			fmt.Fprintf(&b, "%s%d\n", prefix, i)
		}
		return b.String()
	}
	begin := time.Now()
	got := linediff.Unified(lines("a"), lines("b"))
	if strings.Count(got, "\n-") != 100_000 || strings.Count(got, "\n+") != 100_000 {
		t.Error("lines are missing")
	}
	if took := time.Since(begin); took > time.Minute {
		t.Errorf("it took %s", took)
	}
}

func TestSigns(t *testing.T) {
	for want, tc := range map[string][2]string{"": {"", ""}, "  ": {"a b", "a b"}, " -+ ": {"a b c", "a x c"}, "--": {"a b", ""}, " + ": {"a c", "a b c"}} {
		if got := linediff.Signs(strings.Fields(tc[0]), strings.Fields(tc[1])); got != want {
			t.Errorf("from %q to %q: %q, want %q", tc[0], tc[1], got, want)
		}
	}
}
