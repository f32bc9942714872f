// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Command prose finds phrases in comments and documentation that the glossary in docs/reference/glossary.md replaces by others. It reads the
// files that its arguments name, Go and Markdown, and exits with 1 if it finds any.
package main

import (
	"fmt"
	"go/scanner"
	"go/token"
	"io"
	"os"
	"regexp"
	"strings"
)

// phrases are the regular expressions of the phrases, with what to write instead.
var phrases = []struct{ pattern, instead string }{
	{`says? (whether|that|if)`, `"reports whether", or name what happens`},
	{`(says?|said) so`, `"reports it", or name the message`},
	{`(is|are|was|were|be) told`, `"receives", "is notified"`},
	{`(is|are|was|were|be) looked (at|for|up again)`, `"is read", "is reconciled", "is checked"`},
	{`looks? (at|again)`, `"reads", "checks", "reconciles"`},
	{`(goes|go|going|went|gone) on( with)?`, `"continues", "resumes"`},
	{`for good`, `"permanently", "finally"`},
	{`(somebody|nobody|anybody|everybody|whoever)( else)?`, `name the person or the component`},
	{`at work`, `"running", "active", "in flight"`},
	{`on (its|their) way`, `"in flight", "not yet recorded"`},
	{`(hear|hears|heard) (of|about|that|nothing)`, `"receives"`},
	{`com(es|ing) to (an|its) end`, `"ends"`},
	{`in (its|their) hands?`, `name the state`},
	{`believes?( in)?`, `"trusts", "confirms"`},
	{`finds? out`, `"detects", "reads", "computes"`},
	{`gives? (it |them )?back`, `"returns"`},
	{`(has|have) (the|a) say`, `"decides"`},
}

type rule struct {
	pattern *regexp.Regexp
	instead string
}

func main() {
	found := 0
	for _, name := range os.Args[1:] {
		source, err := os.ReadFile(name)
		if err != nil {
			fmt.Fprintln(os.Stderr, "prose:", err)
			os.Exit(2)
		}
		found += check(os.Stdout, rules(), name, source)
	}
	if found > 0 {
		fmt.Fprintf(os.Stderr, "prose: %d phrases: docs/reference/glossary.md has the words\n", found)
		os.Exit(1)
	}
}

func rules() []rule {
	list := make([]rule, len(phrases))
	for i, p := range phrases {
		list[i] = rule{regexp.MustCompile(`(?i)\b(` + strings.ReplaceAll(p.pattern, " ", `\s+(//\s*)?`) + `)\b`), p.instead}
	}
	return list
}

// check prints every phrase of a file with its place, and returns how many there are.
func check(out io.Writer, rules []rule, name string, source []byte) int {
	found := 0
	report := func(line int, text string) {
		for _, r := range rules {
			for _, at := range r.pattern.FindAllStringIndex(text, -1) {
				found++
				phrase := strings.Join(strings.Fields(strings.ReplaceAll(text[at[0]:at[1]], "//", "")), " ")
				fmt.Fprintf(out, "%s:%d: %q: write %s\n", name, line+strings.Count(text[:at[0]], "\n"), phrase, r.instead)
			}
		}
	}
	if !strings.HasSuffix(name, ".go") {
		report(1, blank(string(source)))
		return found
	}
	for _, c := range comments(source) {
		report(c.line, c.text)
	}
	return found
}

// code matches code that Markdown quotes, which is not prose.
var code = regexp.MustCompile("(?s)```.*?```|`[^`\n]*`")

// blank replaces quoted code by spaces and keeps the lines.
func blank(text string) string {
	return code.ReplaceAllStringFunc(text, func(quoted string) string {
		return strings.Map(func(r rune) rune {
			if r == '\n' {
				return r
			}
			return ' '
		}, quoted)
	})
}

type comment struct {
	line int
	text string
}

// comments returns the comments of a Go file; those on consecutive lines are one, so that a phrase may span lines.
func comments(source []byte) []comment {
	var s scanner.Scanner
	file := token.NewFileSet().AddFile("", -1, len(source))
	s.Init(file, source, nil, scanner.ScanComments)
	var list []comment
	end := 0
	for {
		pos, tok, text := s.Scan()
		if tok == token.EOF {
			return list
		}
		if tok != token.COMMENT {
			continue
		}
		line := file.Line(pos)
		if last := len(list) - 1; last >= 0 && end == line-1 {
			list[last].text += "\n" + text
		} else {
			list = append(list, comment{line, text})
		}
		end = line + strings.Count(text, "\n")
	}
}
