// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"
)

func TestSimilarCommandsAreSuggested(t *testing.T) {
	root := NewCommand(genericiooptions.NewTestIOStreamsDiscard(), nil)
	for wrong, want := range map[string]string{
		"sned": "send", "chta": "chat", "aprove": "approve", "wait": "waiting", "Tree": "tree",
		"answer": "send", "ps": "list", "history": "transcript", "files": "workspace", "frobnicate": "",
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
