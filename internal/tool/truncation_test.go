// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package tool_test

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/nestor-dev/nestor/internal/tool"
)

var markerPattern = regexp.MustCompile(`(?s)^(.*)\n\[\.\.\. (\d+) bytes left out here\. To read them: read_result with call_id "c1" and offset (\d+) \.\.\.\]\n(.*)$`)

func TestCutKeepsHeadAndTail(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Repeat(rapid.StringN(1, 40, -1).Draw(t, "text"), rapid.IntRange(0, 60).Draw(t, "times"))
		limit := rapid.IntRange(0, 2000).Draw(t, "limit")
		cut, truncated := tool.Truncate(text, limit, "c1")

		if len(cut) > limit && truncated {
			t.Fatalf("%d bytes exceed the limit of %d", len(cut), limit)
		}
		if !utf8.ValidString(cut) {
			t.Fatalf("a rune was split: %q", cut)
		}
		if !truncated {
			if cut != text || len(text) > limit {
				t.Fatalf("text of %d bytes was changed or not cut at limit %d", len(text), limit)
			}
			return
		}
		parts := markerPattern.FindStringSubmatch(cut)
		if parts == nil {
			if !strings.HasPrefix(text, cut) || limit > 200 {
				t.Fatalf("limit %d: no marker and not a head: %q", limit, cut)
			}
			return
		}
		head, tail := parts[1], parts[4]
		omitted, _ := strconv.Atoi(parts[2])
		offset, _ := strconv.Atoi(parts[3])
		if !strings.HasPrefix(text, head) || !strings.HasSuffix(text, tail) {
			t.Fatalf("head or tail is not the text's own")
		}
		if offset != len(head) || omitted != len(text)-len(head)-len(tail) {
			t.Fatalf("the marker says %d bytes at %d, want %d at %d", omitted, offset, len(text)-len(head)-len(tail), len(head))
		}
		// Both ends get their share, up to a rune.
		if room := len(head) + len(tail); len(tail) < room/3-2*utf8.UTFMax || len(head) <= len(tail)-utf8.UTFMax {
			t.Fatalf("head %d and tail %d are out of proportion", len(head), len(tail))
		}
	})
}

func TestLongOutputIsTruncated(t *testing.T) {
	whole := fmt.Sprintf("first line\n%s\nexit status 1", strings.Repeat("noise\n", 1000))
	set := makeSet(t, makeTool(t, tool.Spec{Name: "bash"}, answerWith(whole)))
	result := tool.Executor{TextLimit: 500}.Execute(t.Context(), set, tool.Invocation{ID: "call_7", Name: "bash"})
	if !result.Truncated || len(result.Text) > 500 {
		t.Fatalf("truncated %v with %d bytes", result.Truncated, len(result.Text))
	}
	for _, want := range []string{"first line", "exit status 1", `read_result with call_id "call_7"`} {
		if !strings.Contains(result.Text, want) {
			t.Errorf("%q is missing in:\n%s", want, result.Text)
		}
	}
	if result.Output.Text != whole {
		t.Error("the whole output was not kept")
	}
	// Another agent of the tree may continue the conversation: it finds the output by its reference.
	result = tool.Executor{TextLimit: 500}.Execute(t.Context(), set, tool.Invocation{ID: "call_7", Reference: "release-1/call_7", Name: "bash"})
	if !strings.Contains(result.Text, `read_result with call_id "release-1/call_7"`) {
		t.Errorf("the reference is missing in:\n%s", result.Text)
	}
}

func TestInvalidTextIsReplaced(t *testing.T) {
	set := makeSet(t, makeTool(t, tool.Spec{Name: "cat"}, answerWith("a\x00b\xffc")))
	if result := execute(t, set, "cat", ""); result.Text != "a\uFFFDb\uFFFDc" || result.Output.Text != result.Text {
		t.Errorf("got %q", result.Text)
	}
}
