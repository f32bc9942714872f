// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package docs_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// maxColumns is the width of prose. Tables, headings, images and code have no line breaks to choose.
const maxColumns = 120

// generatedPages have the lines of their sources.
var generatedPages = []string{
	"performance", "reference/api", "reference/chart", "reference/cli", "reference/conditions", "reference/history-api",
	"reference/metrics",
}

// unbreakable matches lines without a place to break: a table's row, a heading, an image, a comment, or a single link.
var unbreakable = regexp.MustCompile(`^\s*(\||#|!\[|<|([-*]|\d+\.)?\s*\[[^\]]*\]\(\S+$)`)

func TestProseEndsBeforeColumn120(t *testing.T) {
	t.Parallel()
	for _, p := range allPages(t) {
		if slices.Contains(generatedPages, title(p)) {
			continue
		}
		text, err := os.ReadFile(p.Path)
		if err != nil {
			t.Fatal(err)
		}
		code, number := false, 0
		for line := range strings.Lines(string(text)) {
			number++
			if strings.HasPrefix(strings.TrimSpace(line), "```") {
				code = !code
			}
			line = strings.TrimRight(line, "\n")
			width := utf8.RuneCountInString(line)
			if !code && width > maxColumns && !unbreakable.MatchString(line) {
				t.Errorf("%s:%d: %d columns; at most %d", p.Path, number, width, maxColumns)
			}
		}
	}
}
