// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"
)

func TestSimilarNamesAreSuggested(t *testing.T) {
	names := []string{"release", "release-notes", "researcher", "reviewer", "b"}
	for name, want := range map[string]string{
		"relase":    "; did you mean release?",
		"RELEASE":   "; did you mean release?",
		"rel":       "; did you mean release or release-notes?",
		"reseacher": "; did you mean researcher?",
		"reviever":  "; did you mean reviewer?",
		"erlease":   "; did you mean release?",
		"nothing":   "",
		"a":         "",
		"":          "",
	} {
		if got := didYouMean(name, names); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"", "abc", 3}, {"kitten", "sitting", 3}, {"abc", "abc", 0}, {"frist", "first", 1}, {"ab", "ba", 1}, {"abcd", "badc", 2}} {
		if got := editDistance(c.a, c.b); got != c.want || editDistance(c.b, c.a) != c.want {
			t.Errorf("%q and %q: %d, want %d", c.a, c.b, got, c.want)
		}
	}
}

func TestSimilarCommandsAreSuggested(t *testing.T) {
	root := NewCommand(genericiooptions.NewTestIOStreamsDiscard(), nil)
	for wrong, want := range map[string]string{
		"sned": "send", "chta": "chat", "aprove": "approve", "wait": "waiting", "Tree": "tree",
		"answer": "send", "ps": "list", "history": "transcript", "diff": "workspace", "frobnicate": "",
	} {
		root.SetArgs([]string{wrong})
		err := root.Execute()
		suggestion := ""
		if want != "" {
			suggestion = "; did you mean " + want + "?"
		}
		if err == nil || err.Error() != `there is no command "`+wrong+`"`+suggestion {
			t.Errorf("%s: %v, want %q suggested", wrong, err, want)
		}
	}
	for name, words := range otherWords {
		if command, _, err := root.Find([]string{name}); err != nil || command.Name() != name {
			t.Errorf("the words %s are for %q, which is no command", strings.Join(words, ", "), name)
		}
		if taken := slices.IndexFunc(words, func(word string) bool { c, _, _ := root.Find([]string{word}); return c != root }); taken >= 0 {
			t.Errorf("%q is a command itself", words[taken])
		}
	}
}
