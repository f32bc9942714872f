// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// table is the content of conditions.yaml, which describes the fields.
type table struct {
	Conditions []condition `json:"conditions"`
	Groups     []group     `json:"groups"`
	Reasons    []reason    `json:"reasons"`
}

type condition struct {
	Type     string   `json:"type"`
	Polarity string   `json:"polarity"`
	Kinds    []string `json:"kinds"`
	Meaning  string   `json:"meaning"`
	Present  string   `json:"present"`
}

type group struct {
	Group     string `json:"group"`
	Title     string `json:"title"`
	Stalled   bool   `json:"stalled"`
	Argo      string `json:"argo"`
	Doctor    string `json:"doctor"`
	WaitState string `json:"waitState"`
	Event     string `json:"event"`
}

type reason struct {
	Reason      string              `json:"reason"`
	Error       bool                `json:"error"`
	Group       string              `json:"group"`
	States      map[string][]string `json:"states"`
	StateGroups map[string]string   `json:"stateGroups"`
	WaitState   string              `json:"waitState"`
	Event       string              `json:"event"`
	Head        string              `json:"head"`
	Problem     *problem            `json:"problem"`
	Text        string              `json:"text"`
	Todo        string              `json:"todo"`
	See         string              `json:"see"`
}

type problem struct {
	Kind     string `json:"kind"`
	Severity string `json:"severity"`
}

// state is one status of a condition that has a reason.
type state struct {
	condition, status string
	kinds             []string
	group             group
}

func read(path string) (table, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return table{}, err
	}
	var t table
	if err := yaml.UnmarshalStrict(text, &t); err != nil {
		return table{}, fmt.Errorf("parse %s: %w", path, err)
	}
	return t, t.check()
}

// states returns the states of a reason: those of its own group first, so that the first one describes the reason.
func (t table) states(r reason) []state {
	var own, others []state
	for _, on := range slices.Sorted(maps.Keys(r.States)) {
		name, status, _ := strings.Cut(on, "=")
		s := state{condition: name, status: status, kinds: r.States[on], group: t.group(r.Group)}
		if other := r.StateGroups[on]; other != "" {
			s.group = t.group(other)
			others = append(others, s)
			continue
		}
		own = append(own, s)
	}
	return append(own, others...)
}

func (t table) group(name string) group {
	for _, g := range t.Groups {
		if g.Group == name {
			return g
		}
	}
	return group{}
}

func (t table) check() error {
	var errs []error
	fail := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	kinds := map[string][]string{}
	for _, c := range t.Conditions {
		kinds[c.Type] = c.Kinds
	}
	for _, g := range t.Groups {
		if g.Event != "Warning" && (g.Stalled || g.Doctor == "Failed") {
			fail("the group %s has no Event of type Warning, and a person must act", g.Group)
		}
	}
	seen := map[string]bool{}
	for _, r := range t.Reasons {
		if seen[r.Reason] {
			fail("%s has two rows", r.Reason)
		}
		seen[r.Reason] = true
		if len(r.States) == 0 || r.Text == "" {
			fail("%s has no status or no text", r.Reason)
		}
		for on := range r.StateGroups {
			if r.States[on] == nil {
				fail("%s: stateGroups names %s, which it does not have", r.Reason, on)
			}
		}
		for _, s := range t.states(r) {
			if s.group.Group == "" {
				fail("%s has an unknown group", r.Reason)
			}
			if waits := cmp.Or(r.WaitState, s.group.WaitState); r.Problem == nil && (waits == "Waiting" || waits == "OverQuota") {
				fail("%s: work of many objects waits for it, and it has no problem", r.Reason)
			}
			if !slices.Contains([]string{"True", "False", "Unknown"}, s.status) {
				fail("%s has the status %q", r.Reason, s.status)
			}
			for _, kind := range s.kinds {
				if !slices.Contains(kinds[s.condition], kind) {
					fail("%s: %s has no condition %s", r.Reason, kind, s.condition)
				}
				if s.group.Stalled && !slices.Contains(kinds["Stalled"], kind) {
					fail("%s: %s has no condition Stalled", r.Reason, kind)
				}
			}
		}
	}
	return errors.Join(errs...)
}
