// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package page_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nestor-dev/nestor/test/docs/page"
)

const sample = `# A page & its parts

<!-- cluster: empty -->

See [there](other.md#place) and ` + "`--flag`" + `.

## A page & its parts

<!-- run by: make e2e -->

~~~sh
one --a   # exit code 5
two <<END | three
text
END
four \
  five    # prints a link; Ctrl-C ends it
~~~

~~~console
$ cat <<END     # exit code 3
x
END
x
$ false
~~~
`

func readSample(t *testing.T) *page.Page {
	t.Helper()
	path := filepath.Join(t.TempDir(), "sample.md")
	if err := os.WriteFile(path, []byte(sample), 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := page.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestRead(t *testing.T) {
	p := readSample(t)
	if diff := cmp.Diff(map[string]bool{"a-page--its-parts": true, "a-page--its-parts-1": true}, p.Anchors); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]page.Link{{Line: 5, Destination: "other.md#place"}}, p.Links); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"--flag"}, p.Code); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]string{"run by": "make e2e"}, p.Blocks[0].Marks); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]string{"cluster": "empty"}, p.Marks); diff != "" {
		t.Error(diff)
	}
	if len(p.Blocks[1].Marks) != 0 {
		t.Errorf("the second block has the first one's marks: %v", p.Blocks[1].Marks)
	}
}

func TestCommandsAreSplit(t *testing.T) {
	p := readSample(t)
	shown, nothing := "x\n", ""
	want := [][]page.Command{
		{
			{Line: 12, Text: "one --a", Code: 5},
			{Line: 13, Text: "two <<END | three\ntext\nEND"},
			{Line: 16, Text: "four \\\n  five", Serves: true},
		},
		{
			{Line: 21, Text: "cat <<END     # exit code 3\nx\nEND", Code: 3, Want: &shown},
			{Line: 25, Text: "false", Want: &nothing},
		},
	}
	for i, block := range p.Blocks {
		got, err := block.Commands()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want[i], got); diff != "" {
			t.Error(diff)
		}
	}
}

func TestParseErrorsHaveALine(t *testing.T) {
	for text, want := range map[string]string{
		"output first\n":   "begins with",
		"$ one; two\n":     "followed by one command",
		"$ if true; then ": "line 7",
	} {
		_, err := page.Block{Language: "console", Line: 7, Text: text}.Commands()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func TestMatches(t *testing.T) {
	for _, c := range []struct {
		want, got string
		same      bool
	}{
		{"NAME    AGE\na  3s\n", "NAME   AGE\na      2m15s", true},
		{"a\n...\nd", "a\nb\nc\nd", true},
		{"a\n...\nd", "a\nd", true},
		{"a\n...\nd", "a\nb", false},
		{"created chat-x7k2p", "created chat-bcdfg", true},
		{"the ... of ...", "the end of all", true},
		{"the ... of x", "the end of all", false},
		{"a", "a\nb", false},
		{"12 calls", "13 calls", false},
	} {
		if page.Matches(c.want, c.got) != c.same {
			t.Errorf("%q and %q: same is not %t", c.want, c.got, c.same)
		}
	}
}

func TestShellKeepsItsState(t *testing.T) {
	dir := t.TempDir()
	shell, err := page.NewShell(t.Context(), dir, t.TempDir(), os.Environ())
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		command, output string
		code            int
	}{
		{"mkdir -p there; cd there; x=1", "", 0},
		{"greet() { echo \"hello $1\"; return 3; }", "", 0},
		{"greet you; basename \"$PWD\"", "hello you\nthere\n", 0},
		{"greet $x", "hello 1\n", 3},
		{"cat", "", 0},
		{"false | true", "", 1},
		{"sleep 1000 &", "", 0},
	} {
		output, code, err := shell.Run(step.command)
		if err != nil || output != step.output || code != step.code {
			t.Errorf("%s: %q, code %d, %v", step.command, output, code, err)
		}
	}
	if err := shell.Close(); err != nil {
		t.Error(err)
	}
}
