// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"fmt"
	"path"
	"strings"
	"time"
)

// modelLatency is a quick model's.
const modelLatency = 200 * time.Millisecond

// All are the scenarios of a full run, in order.
func All() []Scenario {
	var all []Scenario
	for _, latency := range []time.Duration{0, modelLatency} {
		for _, n := range []int{1, 10, 100, 500, 1000, 5000} {
			all = append(all, Agents(n, 5, latency))
		}
		all = append(all, Agents(1000, 20, latency))
	}
	return append(all,
		FanOut(10, modelLatency), FanOut(50, modelLatency), FanOut(500, modelLatency),
		Chat(1000), Waiting(10_000), Recovery(1000), FinishedAgents(1000, 5), LongHistories(10, 200))
}

// Choose picks scenarios by names or globs, separated by spaces or commas; nothing picks all. The order is that of All.
func Choose(patterns string) ([]Scenario, error) {
	globs := strings.FieldsFunc(patterns, func(r rune) bool { return r == ',' || r == ' ' })
	if len(globs) == 0 {
		return All(), nil
	}
	used := map[string]bool{}
	var chosen []Scenario
	for _, s := range All() {
		for _, glob := range globs {
			fits, err := path.Match(glob, s.Name)
			if err != nil {
				return nil, fmt.Errorf("scenario %q is not a name or a glob: %w", glob, err)
			}
			if fits {
				used[glob] = true
				chosen = append(chosen, s)
				break
			}
		}
	}
	for _, glob := range globs {
		if !used[glob] {
			return nil, fmt.Errorf("no scenario is called %q: --list shows them", glob)
		}
	}
	return chosen, nil
}
