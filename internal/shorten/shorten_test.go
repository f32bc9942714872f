// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package shorten

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestHeadAndTail(t *testing.T) {
	for _, c := range []struct {
		text       string
		limit      int
		head, tail string
	}{
		{"", 3, "", ""},
		{"abc", 3, "abc", "abc"},
		{"abcd", 3, "ab…", "…cd"},
		{"äöüß", 3, "äö…", "…üß"},
		{"äöü", 3, "äöü", "äöü"},
		{"a\xffb", 3, "a\uFFFDb", "a\uFFFDb"},
		{"a\xffbc", 3, "a\uFFFD…", "…bc"},
		{"abcd", 1, "…", "…"},
	} {
		if got := Head(c.text, c.limit); got != c.head {
			t.Errorf("Head(%q, %d) = %q, want %q", c.text, c.limit, got, c.head)
		}
		if got := Tail(c.text, c.limit); got != c.tail {
			t.Errorf("Tail(%q, %d) = %q, want %q", c.text, c.limit, got, c.tail)
		}
	}
}

func TestBytes(t *testing.T) {
	for _, c := range []struct {
		text       string
		limit      int
		head, tail string
	}{
		{"", 3, "", ""},
		{"abc", 3, "abc", "abc"},
		{"abcd", 3, "abc", "bcd"},
		{"ééé", 3, "é", "é"},
		{"ééé", 4, "éé", "éé"},
		{"€", 2, "", ""},
		{"abc", 0, "", ""},
		{"abc", -1, "", ""},
	} {
		if got := HeadBytes(c.text, c.limit); got != c.head {
			t.Errorf("HeadBytes(%q, %d) = %q, want %q", c.text, c.limit, got, c.head)
		}
		if got := TailBytes(c.text, c.limit); got != c.tail {
			t.Errorf("TailBytes(%q, %d) = %q, want %q", c.text, c.limit, got, c.tail)
		}
	}
}

func TestLine(t *testing.T) {
	if got := Line("  a\n\tb  c\r\n"); got != "a b c" {
		t.Errorf("Line = %q, want %q", got, "a b c")
	}
}

func TestPromises(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		limit := rapid.IntRange(utf8.UTFMax, 50).Draw(t, "limit")
		for name, got := range map[string]string{"Head": Head(text, limit), "Tail": Tail(text, limit)} {
			if utf8.RuneCountInString(got) > limit || !utf8.ValidString(got) {
				t.Errorf("%s(%q, %d) = %q", name, text, limit, got)
			}
		}
		head, tail := HeadBytes(text, limit), TailBytes(text, limit)
		if !strings.HasPrefix(text, head) || !strings.HasSuffix(text, tail) {
			t.Errorf("%q and %q are no ends of %q", head, tail, text)
		}
		for _, got := range []string{head, tail} {
			if len(got) > limit || !utf8.ValidString(got) || len(text) > limit && len(got)+utf8.UTFMax <= limit {
				t.Errorf("%d bytes of %q: %q", limit, text, got)
			}
		}
	})
}

func TestPagesGiveTheWholeText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		limit := rapid.IntRange(utf8.UTFMax, 50).Draw(t, "limit")
		var whole strings.Builder
		for offset := 0; offset < len(text); {
			page, next := PageBytes(text, offset, limit)
			if next <= offset || len(page) > limit || !utf8.ValidString(page) {
				t.Fatalf("page at %d: %q, next %d", offset, page, next)
			}
			whole.WriteString(page)
			offset = next
		}
		if whole.String() != text {
			t.Fatalf("pages give %q, want %q", whole.String(), text)
		}
	})
}

func TestPageOutOfRange(t *testing.T) {
	if page, next := PageBytes("abc", 10, 5); page != "" || next != 3 {
		t.Errorf("beyond the end: %q, %d", page, next)
	}
	if page, next := PageBytes("abc", -1, 2); page != "ab" || next != 2 {
		t.Errorf("before the start: %q, %d", page, next)
	}
}
