// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const root = "../.."

func TestGeneratedFilesAreCurrent(t *testing.T) {
	files, err := generate(filepath.Join(root, source))
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range files {
		got, err := os.ReadFile(filepath.Join(root, path))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, string(got)); diff != "" {
			t.Errorf("%s: run make generate (-want +in the file):\n%s", path, diff)
		}
	}
}

func TestTableRefuses(t *testing.T) {
	for name, test := range map[string]struct{ reasons, want string }{
		"a second row":           {"[{reason: A, group: G, text: T, states: {Ready=True: [K]}}, {reason: A, group: G, text: T, states: {Ready=True: [K]}}]", "A has two rows"},
		"no states":              {"[{reason: A, group: G, text: T}]", "no status"},
		"another group":          {"[{reason: A, group: H, text: T, states: {Ready=True: [K]}}]", "unknown group"},
		"another status":         {"[{reason: A, group: G, text: T, states: {Ready=Maybe: [K]}}]", `the status "Maybe"`},
		"a kind without it":      {"[{reason: A, group: G, text: T, states: {Ready=True: [L]}}]", "L has no condition Ready"},
		"a kind without Stalled": {"[{reason: A, group: S, text: T, states: {Ready=True: [K]}}]", "K has no condition Stalled"},
		"no problem":             {"[{reason: A, group: W, text: T, states: {Ready=True: [K]}}]", "no problem"},
		"a group of no state":    {"[{reason: A, group: G, text: T, states: {Ready=True: [K]}, stateGroups: {Ready=False: G}}]", "does not have"},
		"an unknown field":       {"[{reason: A, colour: blue}]", "colour"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "conditions.yaml")
			text := "conditions: [{type: Ready, kinds: [K]}]\ngroups: [{group: G}, {group: S, stalled: true}, {group: W, waitState: Waiting}]\nreasons: " + test.reasons
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := read(path); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, want %s", err, test.want)
			}
		})
	}
}
