// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nestor-dev/nestor/test/stack"
)

// modelLatency is a quick model's.
const modelLatency = 200 * time.Millisecond

// All are the scenarios of a full run, in order.
func All() []Scenario {
	var all []Scenario
	for _, ledger := range []string{stack.SQLite, stack.PostgreSQL} {
		for _, n := range []int{1, 50, 500} {
			all = append(all, Bare(n, bareTurns, ledger))
		}
	}
	all = append(all, Endless(endlessTurns, true), Endless(endlessTurns, false))
	for _, latency := range []time.Duration{0, modelLatency} {
		for _, n := range []int{1, 10, 100, 500, 1000, 5000} {
			all = append(all, Agents(n, 5, latency, MCPTool), Agents(n, 5, latency, CalculatorTool))
		}
		all = append(all, Agents(1000, 20, latency, MCPTool), Agents(1000, 20, latency, CalculatorTool))
	}
	for _, n := range []int{10, 50, 500} {
		all = append(all, FanOut(n, modelLatency, MCPTool), FanOut(n, modelLatency, CalculatorTool))
	}
	return append(all,
		Chat(1000), Waiting(10_000), Recovery(1000), FinishedAgents(1000, 5), LongHistories(10, 200))
}

// Choose picks scenarios by names or globs, separated by spaces or commas; nothing picks all. A name may also have numbers of
// its own, as in agents-50x2-1s-mcp or fanout-20.
func Choose(patterns string) ([]Scenario, error) {
	globs := strings.FieldsFunc(patterns, func(r rune) bool { return r == ',' || r == ' ' })
	if len(globs) == 0 {
		return All(), nil
	}
	var chosen []Scenario
	for _, glob := range globs {
		fitting, err := matching(glob)
		if err != nil {
			return nil, err
		}
		for _, s := range fitting {
			if !slices.ContainsFunc(chosen, func(c Scenario) bool { return c.Name == s.Name }) {
				chosen = append(chosen, s)
			}
		}
	}
	return chosen, nil
}

func matching(glob string) ([]Scenario, error) {
	var fitting []Scenario
	for _, s := range All() {
		fits, err := path.Match(glob, s.Name)
		if err != nil {
			return nil, fmt.Errorf("scenario %q is not a name or a glob: %w", glob, err)
		}
		if fits {
			fitting = append(fitting, s)
		}
	}
	if len(fitting) > 0 {
		return fitting, nil
	}
	s, ok := custom(glob)
	if !ok {
		return nil, fmt.Errorf("no scenario is called %q: --list shows them", glob)
	}
	return []Scenario{s}, nil
}

var customName = regexp.MustCompile(`^(agents|fanout|chat|waiting|recovery)-([1-9]\d{0,5})(?:x(\d{1,3}))?(?:-(\d+m?s))?(-mcp)?$`)

var customBare = regexp.MustCompile(`^bare-([1-9]\d{0,3})(?:x([1-9]\d{0,2}))?(-postgres)?$`)

// custom makes a scenario with numbers of its own.
func custom(name string) (Scenario, bool) {
	if words := customBare.FindStringSubmatch(name); words != nil {
		n, _ := strconv.Atoi(words[1])
		turns, err := strconv.Atoi(words[2])
		if err != nil {
			turns = bareTurns
		}
		return Bare(n, turns, map[string]string{"": stack.SQLite, "-postgres": stack.PostgreSQL}[words[3]]), true
	}
	words := customName.FindStringSubmatch(name)
	if words == nil || (words[1] == "agents") != (words[3] != "") || words[1] != "agents" && words[4] != "" {
		return Scenario{}, false
	}
	tool, throughput := CalculatorTool, words[1] == "agents" || words[1] == "fanout"
	if words[5] != "" {
		tool = MCPTool
	}
	if tool.server && !throughput {
		return Scenario{}, false
	}
	n, _ := strconv.Atoi(words[2])
	switch words[1] {
	case "agents":
		turns, _ := strconv.Atoi(words[3])
		latency, _ := time.ParseDuration(words[4])
		return Agents(n, turns, latency, tool), true
	case "fanout":
		return FanOut(n, modelLatency, tool), true
	case "chat":
		return Chat(n), true
	case "waiting":
		return Waiting(n), true
	}
	return Recovery(n), true
}
