// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package search_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/nestor-dev/nestor/internal/tool/workspace/search"
)

// maxRatio is how much slower than ripgrep a search may be.
const maxRatio = 3

// searchCase is a search that every compared program supports.
type searchCase struct {
	name       string
	pattern    string
	literal    bool
	ignoreCase bool
	// slow marks a search for which package regexp needs most of a minute.
	slow bool
}

var searchCases = []searchCase{
	{name: "rare text", pattern: "ResolveTCPAddr", literal: true},
	{name: "common text", pattern: "ctx", literal: true},
	{name: "text, any case", pattern: "deadline exceeded", literal: true, ignoreCase: true, slow: true},
	{name: "expression", pattern: `func \w+Handler\(`},
	{name: "alternatives", pattern: `(Marshal|Unmarshal|Decode)JSON\b`, slow: true},
	{name: "no fixed text", pattern: `[A-Z][a-z]+_[0-9]{3,}x`, slow: true},
}

func (s searchCase) compile(t testing.TB) *search.Pattern {
	t.Helper()
	pattern, err := search.CompilePattern(s.pattern, s.literal, s.ignoreCase)
	if err != nil {
		t.Fatal(err)
	}
	return pattern
}

// TestSpeedBesideRipgrep compares grep and glob with ripgrep and with straightforward code on common Go libraries, on
// the Go module cache, all in one run. It is a measurement and runs only on request: make bench-go.
func TestSpeedBesideRipgrep(t *testing.T) {
	if os.Getenv("NESTOR_BENCH") == "" {
		t.Skip("set NESTOR_BENCH=1 to measure")
	}
	output, err := exec.CommandContext(t.Context(), "go", "env", "GOMODCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	dir := strings.TrimSpace(string(output))
	rg, err := exec.LookPath("rg")
	if err != nil {
		t.Log("ripgrep is not installed (Debian package ripgrep): compared with Go libraries only")
	}
	files := open(t, dir)
	files.MaxFileBytes = 32 << 20
	files.Include = glob(t, "**/*.go")
	comparison{
		ours: func() int {
			found, err := search.Glob(t.Context(), files, 1<<30)
			if err != nil {
				t.Fatal(err)
			}
			return found.Total
		},
		library: func() int { return doublestarGlob(t, dir) },
		ripgrep: ripgrep(t, rg, dir, "--files", "--glob", "*.go"),
	}.run(t, "glob **/*.go")

	files.Include = nil
	for _, s := range searchCases {
		query := search.GrepQuery{Pattern: s.compile(t), Limit: 200}
		c := comparison{
			ours: func() int {
				found, err := search.Grep(t.Context(), files, query)
				if err != nil {
					t.Fatal(err)
				}
				return found.Matches
			},
			ripgrep: ripgrep(t, rg, dir, s.flags()...),
		}
		if !s.slow {
			c.library = func() int { return plainGrep(t, dir, s) }
		}
		c.run(t, "grep "+s.name)
	}
}

// comparison is a set of programs that do the same work; nil ones are skipped.
type comparison struct{ ours, library, ripgrep func() int }

// run runs all programs three times, in turn, so that other load affects all of them alike; the shortest time of each
// counts.
func (c comparison) run(t *testing.T, name string) {
	t.Helper()
	const never = time.Duration(math.MaxInt64)
	ours, library, rg := never, never, never
	found := 0
	for range 3 {
		found = timed(c.ours, &ours)
		timed(c.library, &library)
		timed(c.ripgrep, &rg)
	}
	beside := func(other time.Duration) string {
		if other == never {
			return "not measured"
		}
		return fmt.Sprintf("%s (%.2f)", other.Round(time.Millisecond), float64(ours)/float64(other))
	}
	t.Logf("%-20s %7d found  here %7s  Go libraries %-15s ripgrep %s", name, found, ours.Round(time.Millisecond), beside(library), beside(rg))
	if ours/maxRatio > rg {
		t.Errorf("%s takes more than %d times as long as ripgrep", name, maxRatio)
	}
	if ours > library {
		t.Errorf("%s is slower than the Go libraries", name)
	}
}

func timed(run func() int, shortest *time.Duration) int {
	if run == nil {
		return 0
	}
	started := time.Now()
	found := run()
	*shortest = min(*shortest, time.Since(started))
	return found
}

func (s searchCase) flags() []string {
	flags := []string{"--line-number", "--no-heading"}
	if s.literal {
		flags = append(flags, "--fixed-strings")
	}
	if s.ignoreCase {
		flags = append(flags, "--ignore-case")
	}
	return append(flags, "--regexp", s.pattern)
}

// ripgrep runs ripgrep on the same work: the same ignore rules, including hidden files. It is nil if ripgrep is not
// installed.
func ripgrep(t *testing.T, rg, dir string, flags ...string) func() int {
	t.Helper()
	if rg == "" {
		return nil
	}
	flags = append([]string{"--no-config", "--no-require-git", "--no-ignore-global", "--no-ignore-dot", "--hidden", "--glob", "!.git"}, flags...)
	return func() int {
		cmd := exec.CommandContext(t.Context(), rg, append(flags, dir)...)
		var output bytes.Buffer
		cmd.Stdout = &output
		// Exit code 1 means no match, and 2 an unreadable file.
		_ = cmd.Run()
		return output.Len()
	}
}

// doublestarGlob counts the files that a glob matches, with the doublestar library.
func doublestarGlob(t testing.TB, dir string) int {
	t.Helper()
	paths, err := doublestar.Glob(os.DirFS(dir), "**/*.go", doublestar.WithFilesOnly())
	if err != nil {
		t.Fatal(err)
	}
	return len(paths)
}

// plainGrep searches files in a straightforward way, with the standard library.
func plainGrep(t testing.TB, dir string, s searchCase) int {
	t.Helper()
	expression := s.pattern
	if s.literal {
		expression = regexp.QuoteMeta(expression)
	}
	if s.ignoreCase {
		expression = "(?i)" + expression
	}
	re := regexp.MustCompile(expression)
	matches := 0
	err := filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		defer func() { _ = f.Close() }()
		reader := bufio.NewReader(f)
		if head, _ := reader.Peek(4096); bytes.IndexByte(head, 0) >= 0 {
			return nil
		}
		lines := bufio.NewScanner(reader)
		lines.Buffer(nil, 32<<20)
		for lines.Scan() {
			if re.Match(lines.Bytes()) {
				matches++
			}
		}
		return lines.Err()
	})
	if err != nil {
		t.Fatal(err)
	}
	return matches
}

func BenchmarkGlob(b *testing.B) {
	dir, _, _ := generate(b, treeSize(b))
	b.Run("nestor", func(b *testing.B) {
		files := open(b, dir)
		files.Include = glob(b, "**/*.go")
		for b.Loop() {
			if _, err := search.Glob(b.Context(), files, 1<<30); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("doublestar", func(b *testing.B) {
		for b.Loop() {
			doublestarGlob(b, dir)
		}
	})
}

func BenchmarkGrep(b *testing.B) {
	dir, _, _ := generate(b, treeSize(b))
	for _, s := range []searchCase{
		{name: "text", pattern: "needle", literal: true},
		{name: "expression", pattern: `func \w+77\(`},
		{name: "no fixed text", pattern: `[A-Z][a-z]+_[0-9]{3,}x`},
	} {
		b.Run(s.name+"/nestor", func(b *testing.B) {
			files := open(b, dir)
			query := search.GrepQuery{Pattern: s.compile(b), Limit: 200}
			for b.Loop() {
				if _, err := search.Grep(b.Context(), files, query); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(s.name+"/plain", func(b *testing.B) {
			for b.Loop() {
				plainGrep(b, dir, s)
			}
		})
	}
}

func BenchmarkKeywords(b *testing.B) {
	dir, _, _ := generate(b, treeSize(b))
	files := open(b, dir)
	for b.Loop() {
		if _, err := search.Keywords(b.Context(), files, search.KeywordQuery{Words: []string{"needle", "function"}, Limit: 10, Lines: 4}); err != nil {
			b.Fatal(err)
		}
	}
}
