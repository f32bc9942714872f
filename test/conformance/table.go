// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// table has the expected outcome of each scenario. A scenario has the suffix @2026-07-28 if it runs with that revision.
type table struct {
	// Passed are the scenarios that pass.
	Passed []string `json:"passed"`
	// Partly are scenarios of which all checks pass but those that are listed, with the reasons.
	Partly []struct {
		Reason    string   `json:"reason"`
		Scenarios []string `json:"scenarios"`
		Checks    []string `json:"checks"`
	} `json:"partly"`
	// NotApplicable are scenarios about something that is not offered, with the reasons.
	NotApplicable []struct {
		Reason    string   `json:"reason"`
		Scenarios []string `json:"scenarios"`
	} `json:"notApplicable"`
}

func readTable(t *testing.T, path string) table {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var read table
	if err := yaml.UnmarshalStrict(text, &read); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return read
}

func (e table) compare(t *testing.T, outcomes map[string]outcome) {
	t.Helper()
	listed := map[string]bool{}
	each := func(scenarios []string, check func(scenario string, o outcome)) {
		for _, scenario := range scenarios {
			o, ran := outcomes[scenario]
			switch {
			case listed[scenario]:
				t.Errorf("%s is listed twice", scenario)
			case !ran:
				t.Errorf("%s is listed, and the suite does not have it", scenario)
			default:
				check(scenario, o)
			}
			listed[scenario] = true
		}
	}
	each(e.Passed, func(scenario string, o outcome) {
		if !o.passed {
			t.Errorf("%s should pass, and these checks failed:\n%s", scenario, strings.Join(o.errors, "\n"))
		}
	})
	for _, part := range e.Partly {
		each(part.Scenarios, func(scenario string, o outcome) {
			if !slices.Equal(unique(part.Checks), unique(o.failed)) {
				t.Errorf("%s: these checks failed, want %q:\n%s", scenario, unique(part.Checks), strings.Join(o.errors, "\n"))
			}
		})
	}
	for _, other := range e.NotApplicable {
		each(other.Scenarios, func(scenario string, o outcome) {
			if o.passed {
				t.Errorf("%s passes, although it should not apply: %s", scenario, other.Reason)
			}
		})
	}
	for _, scenario := range slices.Sorted(maps.Keys(outcomes)) {
		if !listed[scenario] {
			t.Errorf("%s is not listed; it passed: %t, failed checks: %q", scenario, outcomes[scenario].passed, outcomes[scenario].failed)
		}
	}
}

func unique(ids []string) []string { return slices.Compact(slices.Sorted(slices.Values(ids))) }
