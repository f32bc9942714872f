// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package attacks

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// attack is one attempt to access or change something without permission.
type attack struct {
	// name describes what would be wrong if it succeeded.
	name string
	// attempt describes what the attacker does, and stops what prevents it.
	attempt, defence string
	// run fails if the attack succeeds.
	run func(t *testing.T, w *target)
	// control does the same where it is allowed, or where its success is visible, and fails if it has no effect.
	control func(t *testing.T, w *target)
}

var classes = map[string][]attack{}

// class adds a class of attacks. Call it once per class, as var _ = class(...).
func class(name string, attacks ...attack) struct{} {
	classes[name] = append(classes[name], attacks...)
	return struct{}{}
}

// TestAttacks runs with SQLite. What depends on the database is in the conformance suite of the ledgers: fences,
// bytes of a namespace, retention, records of earlier namespaces, and damaged rows.
func TestAttacks(t *testing.T) {
	w := start(t)
	for name, attacks := range classes {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // the last attack of a class may wait for long, and would do so alone
			for _, a := range attacks {
				t.Run(a.name, func(t *testing.T) { a.execute(t, w) })
			}
		})
	}
}

func (a attack) execute(t *testing.T, w *target) {
	t.Parallel()
	t.Run("attack", func(t *testing.T) {
		t.Parallel()
		a.run(t, w)
	})
	t.Run("control", func(t *testing.T) {
		t.Parallel()
		a.control(t, w)
	})
}

func TestAttacksAreDescribed(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "concepts", "security.md"))
	if err != nil {
		t.Fatal(err)
	}
	for name, attacks := range classes {
		if !strings.Contains(string(page), "`"+name+"`") {
			t.Errorf("docs/concepts/security.md does not name the class of attacks `%s`", name)
		}
		var names []string
		for _, a := range attacks {
			if a.attempt == "" || a.defence == "" || a.run == nil || a.control == nil || slices.Contains(names, a.name) {
				t.Errorf("attack %q of class %q: describe what it attempts and what stops it, once, and add a control", a.name, name)
			}
			names = append(names, a.name)
		}
	}
}
