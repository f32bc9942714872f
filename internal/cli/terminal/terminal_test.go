// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package terminal

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCleanShowsControlCharacters(t *testing.T) {
	for name, c := range map[string]struct{ in, want string }{
		"plain":           {"a\nb", "a\nb"},
		"letters":         {"Grüße, 世界 👋", "Grüße, 世界 👋"},
		"colour":          {"\x1b[31mred\x1b[0m", "␛[31mred␛[0m"},
		"window title":    {"\x1b]0;gotcha\x07", "␛]0;gotcha␇"},
		"clear screen":    {"\x1b[2J", "␛[2J"},
		"overwrite":       {"rm -rf /\rls      ", "rm -rf /␍ls      "},
		"backspace":       {"safe\b\b\b\bevil", "safe␈␈␈␈evil"},
		"eight bit CSI":   {"\u009b31m", "\ufffd31m"},
		"delete":          {"a\x7f", "a␡"},
		"reordering":      {"user\u202etxt.exe", "user\ufffdtxt.exe"},
		"marks":           {"a\u200eb\u200fc\u061cd\u2066e\u2069", "a\ufffdb\ufffdc\ufffdd\ufffde\ufffd"},
		"tab":             {"a\tb", "a    b"},
		"windows lines":   {"a\r\nb", "a\nb"},
		"not UTF-8":       {"a\xff\xfe", "a\ufffd\ufffd"},
		"line separators": {"a\u2028b", "a\ufffdb"},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, Clean(c.in)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestLineIsOneLine(t *testing.T) {
	if got, want := Line(" a\n\n  b\tc\x1b[2J "), "a b c␛[2J"; got != want {
		t.Errorf("Line = %q, want %q", got, want)
	}
}

var styles = regexp.MustCompile(`\x1b\[[0-9;:]*m`)

func TestMarkdownEmitsOnlyStyles(t *testing.T) {
	r := NewRenderer(60)
	hostile := []string{
		"\x1b[2J", "\x1b]0;x\x07", "&#27;[2J", "&#x1b;]8;;http://evil\x07", "&#155;2J", "`&#27;[2J`", "```\n\x1b[2J\n```",
		"[a\x1b[2J](http://x/\x1b[2J)", "![i](\x1b[2J)", "<b>\x1b[2J</b>", "| a\x1b[2J | b |\n|---|---|\n| c | &#27;[2J |", "# h\x1b[2J\n> q&#8;",
		"&#27[2J", "&amp;#27;[2J", "<!-- \x1b[2J -->", "\x9b2J",
	}
	for _, text := range append(hostile, strings.Join(hostile, "\n\n")) {
		rest := styles.ReplaceAllString(strings.Join(r.Markdown(text), "\n"), "")
		for _, c := range rest {
			if c != '\n' && (c < ' ' || (c >= 0x7f && c < 0xa0)) {
				t.Errorf("Markdown(%q) lets %U through: %q", text, c, rest)
			}
		}
		if strings.Contains(text, "&#27;[2J") && !strings.Contains(rest, "␛[2J") && !strings.Contains(rest, "&#27;") {
			t.Errorf("Markdown(%q) hides the text: %q", text, rest)
		}
	}
}

func TestMarkdownRenders(t *testing.T) {
	r := NewRenderer(40)
	var got []string
	for _, line := range r.Markdown("# Releases\n\nThree came out, of which **one** matters a lot more than the others:\n\n- spring\n- summer\n  - in `July`\n\n1. first\n2. second\n\n```go\nfunc main() {}\n```\n") {
		got = append(got, styles.ReplaceAllString(line, ""))
	}
	want := []string{
		"Releases", "", "Three came out, of which one matters a", "lot more than the others:", "",
		"• spring", "• summer", "  • in July", "", "1. first", "2. second", "", "  func main() {}",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestMarkdownRendersEverything(t *testing.T) {
	for source, want := range map[string]string{
		"a *b* **c** ~~d~~ \\*e\\* &amp;":               "a b c d *e* &",
		"one\ntwo  \nthree":                             "one\ntwo\nthree",
		"[page](https://a.example) <https://b.example>": "page https://a.example\nhttps://b.example",
		"![chart](c.png)":                               "chart c.png",
		"> a\n>\n> > b":                                 "│ a\n│\n│ │ b",
		"- [x] done\n- [ ] open":                        "• [✓] done\n• [ ] open",
		"3. c\n4. d":                                    "3. c\n4. d",
		"- a\n\n  b\n- c":                               "• a\n\n  b\n\n• c",
		"a\n\n---\n\nb":                                 "a\n\n────────\n\nb",
		"| a | b |\n|---|---|\n| `c` | long cell |":     "a│b\n─┼─────────\nc│long cell",
		"<b>x</b>":                                      "<b>x</b>",
		"    code\n":                                    "  code",
		"- one two three four five six seven":           "• one two three four five\n  six seven",
	} {
		var got []string
		for _, line := range NewRenderer(26).Markdown(source) {
			got = append(got, strings.TrimRight(styles.ReplaceAllString(line, ""), " "))
		}
		if diff := cmp.Diff(want, strings.Join(got, "\n")); diff != "" {
			t.Errorf("%q: %s", source, diff)
		}
	}
}

// A style that spans two lines ends with the first and begins again in the second, since each is printed at its place of the screen.
func TestMarkdownStylesEndWithLine(t *testing.T) {
	for _, line := range NewRenderer(20).Markdown("**bold words that fill more than a line**") {
		if !strings.HasPrefix(line, "\x1b[1m") || !strings.HasSuffix(line, "\x1b[m") {
			t.Errorf("line %q", line)
		}
	}
}

func TestFitAndPadCountColumns(t *testing.T) {
	for _, c := range []struct {
		in    string
		width int
		want  string
	}{{"abc", 5, "abc  "}, {"abcdef", 4, "abc…"}, {"世界", 3, "世…"}, {"", 2, "  "}, {"x", 0, ""}} {
		if got := Pad(c.in, c.width); got != c.want {
			t.Errorf("Pad(%q, %d) = %q, want %q", c.in, c.width, got, c.want)
		}
	}
}

func TestNoColoursWithoutATerminal(t *testing.T) {
	var out bytes.Buffer
	fmt.Fprint(Writer(&out, []string{"TERM=xterm-256color"}), Phase("Failed"), Mark("Success"))
	if got, want := out.String(), "Failed✓"; got != want {
		t.Errorf("wrote %q, want %q", got, want)
	}
}

func TestExactShowsEveryCharacter(t *testing.T) {
	for text, want := range map[string]string{
		`{"command":"make"}`:     `{"command":"make"}`,
		"a\u202eb\u200bc\u00a0d": `a\u202eb\u200bc\u00a0d`,
		"tag \U000e0041":         `tag \udb40\udc41`,
		"\x1b[2J\x7f\u009b":      `␛[2J␡\u009b`,
		"two  spaces\n日本 é":      "two  spaces\n日本 é",
	} {
		if got := Exact(text); got != want {
			t.Errorf("%q is shown as %q, want %q", text, got, want)
		}
	}
	if got := WrapExact("a  b  c", 3); strings.Join(got, "|") != "a  |b  |c" {
		t.Errorf("wrapped as %q", got)
	}
}
