// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package edit

import (
	"errors"
	"fmt"
	"strings"
)

type Edit struct {
	Old string // must occur in the text
	New string
	// All replaces every occurrence.
	All bool
	// Occurrence, counted from 1, selects one of several; 0 requires exactly one.
	Occurrence int
}

// Change describes an applied edit. Lines are numbered from 1 in the text after the edit; later edits may have moved
// them.
type Change struct {
	Lines          []int // where each replacement begins
	Removed, Added int   // lines of the passage before and after
}

// Apply applies edits in order and returns the new text and one change per edit. If one fails, the error names it and
// no text is returned.
func Apply(text string, edits []Edit) (string, []Change, error) {
	if len(edits) == 0 {
		return "", nil, errors.New("edits is empty; give at least one edit")
	}
	// A file with CRLF line ends keeps them; models write LF.
	crlf := usesCRLF(text)
	changes := make([]Change, 0, len(edits))
	for i, e := range edits {
		if crlf {
			e.Old, e.New = toCRLF(e.Old), toCRLF(e.New)
		}
		next, change, err := apply(text, e)
		if err != nil {
			return "", nil, fmt.Errorf("edit %d of %d: %w", i+1, len(edits), err)
		}
		text = next
		changes = append(changes, change)
	}
	return text, changes, nil
}

func apply(text string, e Edit) (string, Change, error) {
	if err := validate(e); err != nil {
		return "", Change{}, err
	}
	at := occurrences(text, e.Old)
	switch {
	case len(at) == 0:
		return "", Change{}, notFound(text, e.Old)
	case e.Occurrence > len(at):
		return "", Change{}, fmt.Errorf("occurrence %d of old_string was requested, but it occurs %s", e.Occurrence, times(text, at))
	case e.Occurrence > 0:
		at = at[e.Occurrence-1 : e.Occurrence]
	case len(at) > 1 && !e.All:
		return "", Change{}, fmt.Errorf("old_string occurs %s; add surrounding lines to make it unique, or set occurrence or replace_all", times(text, at))
	}
	result, change := replace(text, e, at)
	return result, change, nil
}

func validate(e Edit) error {
	switch {
	case e.Old == "":
		return errors.New("old_string is empty; give the text to replace (use write to create a file)")
	case e.Old == e.New:
		return errors.New("old_string and new_string are equal; nothing would change")
	case e.Occurrence < 0:
		return errors.New("occurrence counts from 1")
	case e.All && e.Occurrence > 0:
		return errors.New("replace_all and occurrence exclude each other")
	}
	return nil
}

// occurrences returns the offsets of non-overlapping occurrences of old in text.
func occurrences(text, old string) []int {
	var at []int
	for from := 0; ; {
		i := strings.Index(text[from:], old)
		if i < 0 {
			return at
		}
		at = append(at, from+i)
		from += i + len(old)
	}
}

func replace(text string, e Edit, at []int) (string, Change) {
	change := Change{Removed: countLines(e.Old), Added: countLines(e.New)}
	var b strings.Builder
	b.Grow(len(text) + len(at)*max(0, len(e.New)-len(e.Old)))
	from, line := 0, 1
	for _, i := range at {
		before := text[from:i]
		line += strings.Count(before, "\n")
		change.Lines = append(change.Lines, line)
		b.WriteString(before)
		b.WriteString(e.New)
		line += strings.Count(e.New, "\n")
		from = i + len(e.Old)
	}
	b.WriteString(text[from:])
	return b.String(), change
}

func countLines(text string) int {
	n := strings.Count(text, "\n")
	if text != "" && !strings.HasSuffix(text, "\n") {
		n++
	}
	return n
}

func usesCRLF(text string) bool {
	n := strings.Count(text, "\n")
	return n > 0 && strings.Count(text, "\r\n") == n
}

func toCRLF(text string) string {
	return strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\n", "\r\n")
}
