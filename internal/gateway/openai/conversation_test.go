// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package openai

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

func user(text string) turn      { return turn{Role: "user", Text: text} }
func assistant(text string) turn { return turn{Role: "assistant", Text: text} }
func system(text string) turn    { return turn{Role: "system", Text: text} }

// paramOf returns the parameter that an error is about, or "-" if the error is not about a request.
func paramOf(err error) string {
	var bad *badRequest
	if !errors.As(err, &bad) {
		return "-"
	}
	return bad.param
}

func TestSplitLast(t *testing.T) {
	for _, tc := range []struct {
		name   string
		turns  []turn
		before []turn
		last   string
	}{
		{"one message", []turn{user("a")}, []turn{}, "a"},
		{"after a reply", []turn{user("a"), assistant("b"), user("c")}, []turn{user("a"), assistant("b")}, "c"},
		{"several at the end", []turn{system("s"), user("a"), user("b")}, []turn{system("s")}, "a\n\nb"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			before, last, err := splitLast(tc.turns)
			if err != nil || last.Text != tc.last || last.Role != "user" || !reflect.DeepEqual(before, tc.before) {
				t.Errorf("before %v, last %v, error %v", before, last, err)
			}
		})
	}
}

func TestSplitLastKeepsImages(t *testing.T) {
	first, second := user("a"), user("b")
	first.Images, second.Images = []v1beta1.Attachment{{Name: "1"}}, []v1beta1.Attachment{{Name: "2"}}
	_, last, err := splitLast([]turn{first, second})
	if err != nil || len(last.Images) != 2 || last.Images[0].Name != "1" || last.Images[1].Name != "2" {
		t.Errorf("%v, %v", last.Images, err)
	}
	if err := noImages(last.Images); paramOf(err) != "messages" {
		t.Errorf("images for a task: %v", err)
	}
}

func TestSplitLastRefuses(t *testing.T) {
	for name, turns := range map[string][]turn{
		"nothing": nil, "a reply at the end": {user("a"), assistant("b")}, "rules only": {system("s")}, "no text": {user(" \n")},
	} {
		if _, _, err := splitLast(turns); paramOf(err) != "messages" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestInstruction(t *testing.T) {
	for _, tc := range []struct {
		name   string
		before []turn
		want   string
	}{
		{"alone", nil, "Do it."},
		{"with rules", []turn{system("Be short."), {Role: "developer", Text: "Be kind."}},
			"The caller's instructions:\n\nBe short.\n\nBe kind.\n\nThe request:\n\nDo it."},
		{"with a conversation", []turn{user("Hello"), assistant("Hi")}, "The conversation so far:\n\nUser: Hello\n\nYou: Hi\n\nThe request:\n\nDo it."},
		{"with both", []turn{user("Hello"), system("Be short.")},
			"The caller's instructions:\n\nBe short.\n\nThe conversation so far:\n\nUser: Hello\n\nThe request:\n\nDo it."},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := instruction(tc.before, user("Do it."))
			if err != nil || got != tc.want {
				t.Errorf("%q, %v; want %q", got, err, tc.want)
			}
		})
	}
}

// TestInstructionLimit counts characters, as the API server does, and not bytes.
func TestInstructionLimit(t *testing.T) {
	if _, err := instruction(nil, user(strings.Repeat("é", maxInstruction))); err != nil {
		t.Errorf("the longest instruction: %v", err)
	}
	if _, err := instruction(nil, user(strings.Repeat("é", maxInstruction+1))); paramOf(err) != "messages" {
		t.Errorf("a longer one: %v", err)
	}
}

func TestDigest(t *testing.T) {
	base := []turn{user("a"), assistant("b")}
	if digest("m", base) != digest("m", []turn{user(" a\n"), assistant("b ")}) {
		t.Error("space around a text changes the digest")
	}
	image := user("a")
	image.Images = []v1beta1.Attachment{{Name: "1"}}
	digests := map[string]string{digest("m", base): "the conversation"}
	for name, d := range map[string]string{
		"another model": digest("n", base), "another text": digest("m", []turn{user("c"), assistant("b")}), "another role": digest("m", []turn{system("a"), assistant("b")}),
		"fewer turns": digest("m", base[:1]), "another order": digest("m", []turn{assistant("b"), user("a")}), "one text": digest("m", []turn{user("a9:assistant1:b")}),
		"an image": digest("m", []turn{image, assistant("b")}), "no turns": digest("m", nil),
	} {
		if other, ok := digests[d]; ok {
			t.Errorf("%s has the digest of %s", name, other)
		}
		digests[d] = name
	}
}

func TestEarlierRequests(t *testing.T) {
	turns := []turn{system("s"), user("a"), assistant("b"), user("c"), assistant("d"), user("e")}
	want := []string{digest("m", turns[:2]), digest("m", turns[:4])}
	if got := earlierRequests("m", turns); !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got := earlierRequests("m", []turn{assistant("a"), user("b")}); len(got) != 0 {
		t.Errorf("a reply without a request: %v", got)
	}
}

func TestLastReply(t *testing.T) {
	for _, tc := range []struct {
		before []turn
		want   string
	}{
		{nil, ""}, {[]turn{user("a")}, ""}, {[]turn{user("a"), assistant(" b\n")}, "b"}, {[]turn{assistant("b"), system("s")}, ""},
	} {
		if got := lastReply(tc.before); got != tc.want {
			t.Errorf("%v: %q, want %q", tc.before, got, tc.want)
		}
	}
}
