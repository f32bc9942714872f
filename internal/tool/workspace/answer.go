// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func text(s string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: s}}}
}

// answer collects lines of text up to a number of bytes.
type answer struct {
	b     strings.Builder
	limit int
	full  bool
}

// addLine adds a line. Once the answer is full, it adds nothing and returns false.
func (a *answer) addLine(format string, args ...any) bool {
	if a.full {
		return false
	}
	line := fmt.Sprintf(format, args...)
	if a.b.Len()+len(line)+1 > a.limit {
		a.full = true
		return false
	}
	a.b.WriteString(line)
	a.b.WriteByte('\n')
	return true
}

// addNote adds a line about omissions, regardless of the limit.
func (a *answer) addNote(format string, args ...any) {
	fmt.Fprintf(&a.b, "["+format+"]\n", args...)
}

func (a *answer) result() *mcp.CallToolResult { return text(strings.TrimSuffix(a.b.String(), "\n")) }

// plural returns "1 file", "2 files".
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	if rest, ok := strings.CutSuffix(noun, "y"); ok {
		return fmt.Sprintf("%d %sies", n, rest)
	}
	if strings.HasSuffix(noun, "ch") {
		return fmt.Sprintf("%d %ses", n, noun)
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// limitOr returns the requested limit, but at most the maximum. Without one it returns the fallback.
func limitOr(requested, fallback, maximum int) int {
	if requested <= 0 {
		return fallback
	}
	return min(requested, maximum)
}

// size formats a number of bytes.
func size(n int64) string {
	switch {
	case n < 10<<10:
		return plural(int(n), "byte")
	case n < 10<<20:
		return fmt.Sprintf("%d KiB", n>>10)
	default:
		return fmt.Sprintf("%d MiB", n>>20)
	}
}
