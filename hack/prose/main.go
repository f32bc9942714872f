// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Command prose finds phrases that the glossary in docs/reference/glossary.md replaces by others, and names that are
// too long. It reads the files that its arguments name, and exits with 1 if it finds any:
//
//   - Go: comments, strings, names of declarations and of tests, titles of specs. Other strings of tests are not
//
// prose: they quote     people and models.
//   - Markdown, TypeScript: everything but quoted code.
//   - "-": the subjects of commits, one a line, from standard input.
package main

import (
	"fmt"
	"io"
	"os"
	"strings"
)

func main() {
	findings := 0
	for _, name := range os.Args[1:] {
		source, err := read(name)
		if err != nil {
			fmt.Fprintln(os.Stderr, "prose:", err)
			os.Exit(2)
		}
		findings += check(os.Stdout, name, source)
	}
	if findings > 0 {
		fmt.Fprintf(os.Stderr, "prose: %d findings: docs/reference/glossary.md has the words\n", findings)
		os.Exit(1)
	}
}

func read(name string) ([]byte, error) {
	if name == "-" {
		return io.ReadAll(os.Stdin)
	}
	return os.ReadFile(name)
}

// check prints every finding in a file with its place, and returns how many there are.
func check(out io.Writer, name string, source []byte) int {
	findings := 0
	for _, p := range passages(name, source) {
		for _, r := range p.rules {
			for _, at := range r.pattern.FindAllStringIndex(p.text, -1) {
				findings++
				phrase := strings.Join(strings.Fields(strings.ReplaceAll(p.text[at[0]:at[1]], "//", "")), " ")
				fmt.Fprintf(out, "%s:%d: %q: write %s\n", name, p.line+strings.Count(p.text[:at[0]], "\n"), phrase, r.instead)
			}
		}
	}
	return findings
}

// passages splits a file into its prose, each part with the rules that apply to it.
func passages(name string, source []byte) []passage {
	switch {
	case name == "-":
		return []passage{{1, string(source), append(subjectRules, phraseRules...)}}
	case strings.HasSuffix(name, ".go"):
		return goPassages(name, source)
	}
	return []passage{{1, blank(string(source)), phraseRules}}
}
