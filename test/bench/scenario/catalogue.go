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

const modelLatency = 200 * time.Millisecond

// All returns the scenarios of a full run, in order.
func All() []Scenario {
	var all []Scenario
	for _, ledger := range []string{stack.SQLite, stack.PostgreSQL} {
		for _, n := range []int{1, 50, 500} {
			all = append(all, Bare(n, bareTurns, ledger, 0))
		}
	}
	for _, n := range []int{50, 500} {
		all = append(all, Bare(n, bareTurns, stack.PostgreSQL, shards))
	}
	all = append(all, Endless(endlessTurns, true), Endless(endlessTurns, false))
	for _, latency := range []time.Duration{0, modelLatency} {
		for _, n := range []int{1, 10, 100, 1000, 5000} {
			all = append(all, Agents(n, 5, latency, MCPTool))
		}
		all = append(all, Agents(1000, 20, latency, MCPTool))
	}
	for _, n := range []int{1, 10, 100, 1000} {
		all = append(all, Agents(n, 5, 0, CalculatorTool))
	}
	for _, n := range []int{50, 500} {
		all = append(all, FanOut(n, modelLatency, MCPTool))
	}
	all = append(all, Recovery(1000, MCPTool), FinishedAgents(1000, 5, MCPTool), LongHistories(10, 200, MCPTool))
	for _, operators := range []int{1, 2, 3} {
		all = append(all, Replicas(operators, replicaAgents, replicaTurns, replicaLatency))
	}
	all = append(all, HandOver(sigterm, handOverAgents), HandOver(sigkill, handOverAgents), Limits(limitsDuration))
	return append(all, Live(1000, 20, 2*time.Second), Live(5000, fewTurns, 20*time.Second),
		AskLatency(busyAgents, busyTurns), DelegateLatency(busyAgents, busyTurns), CancelDepth3(busyAgents, busyTurns), Chat(1000), Waiting(10_000), Triggers(1000), Gateway(gatewayRuns),
		Fork(1000), Evaluation(200))
}

// Choose returns scenarios by names or globs, separated by spaces or commas; empty means all. A name may also have
// custom numbers, as in agents-50x2-1s-mcp or fanout-20.
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

var customName = regexp.MustCompile(`^(agents|fanout|chat|waiting|triggers|recovery|fork|evaluation)-([1-9]\d{0,5})(?:x(\d{1,3}))?(?:-(\d+m?s))?(-mcp)?$`)

var (
	customBare     = regexp.MustCompile(`^bare-([1-9]\d{0,3})(?:x([1-9]\d{0,2}))?(-postgres(?:-sharded)?)?$`)
	customReplicas = regexp.MustCompile(`^replicas-([1-9])-([1-9]\d{0,4})x([1-9]\d{0,2})-(\d+m?s)$`)
	customHandOver = regexp.MustCompile(`^handover-(sigterm|sigkill)-([1-9]\d{0,3})$`)
	customLimits   = regexp.MustCompile(`^limits-(\d+[ms](?:\d+s)?)$`)
	customLive     = regexp.MustCompile(`^live-([1-9]\d{0,5})(?:x([1-9]\d{0,2}))?-(\d+m?s)$`)
)

func custom(name string) (Scenario, bool) {
	if groups := customBare.FindStringSubmatch(name); groups != nil {
		n, turns := parseNumber(0, groups[1]), parseNumber(bareTurns, groups[2])
		switch groups[3] {
		case "":
			return Bare(n, turns, stack.SQLite, 0), true
		case "-postgres":
			return Bare(n, turns, stack.PostgreSQL, 0), true
		}
		return Bare(n, turns, stack.PostgreSQL, shards), true
	}
	if groups := customLive.FindStringSubmatch(name); groups != nil {
		latency, _ := time.ParseDuration(groups[3])
		return Live(parseNumber(0, groups[1]), parseNumber(fewTurns, groups[2]), latency), true
	}
	if s, ok := customShared(name); ok {
		return s, true
	}
	groups := customName.FindStringSubmatch(name)
	if groups == nil || (groups[1] == "agents") != (groups[3] != "") || groups[1] != "agents" && groups[4] != "" {
		return Scenario{}, false
	}
	tool := CalculatorTool
	if groups[5] != "" {
		tool = MCPTool
	}
	if tool.server && slices.Contains([]string{"chat", "waiting", "triggers", "fork", "evaluation"}, groups[1]) {
		return Scenario{}, false
	}
	n := parseNumber(0, groups[2])
	switch groups[1] {
	case "agents":
		latency, _ := time.ParseDuration(groups[4])
		return Agents(n, parseNumber(0, groups[3]), latency, tool), true
	case "fanout":
		return FanOut(n, modelLatency, tool), true
	case "chat":
		return Chat(n), true
	case "waiting":
		return Waiting(n), true
	case "triggers":
		return Triggers(n), true
	case "fork":
		return Fork(n), true
	case "evaluation":
		return Evaluation(n), true
	}
	return Recovery(n, tool), true
}

// customShared returns a scenario with several operators and custom numbers.
func customShared(name string) (Scenario, bool) {
	if groups := customReplicas.FindStringSubmatch(name); groups != nil {
		latency, _ := time.ParseDuration(groups[4])
		return Replicas(parseNumber(0, groups[1]), parseNumber(0, groups[2]), parseNumber(0, groups[3]), latency), true
	}
	if groups := customHandOver.FindStringSubmatch(name); groups != nil {
		return HandOver(groups[1], parseNumber(0, groups[2])), true
	}
	if groups := customLimits.FindStringSubmatch(name); groups != nil {
		lasts, err := time.ParseDuration(groups[1])
		return Limits(lasts), err == nil && lasts > 0
	}
	return Scenario{}, false
}

// parseNumber parses a number, or returns other if the name omits it.
func parseNumber(other int, digits string) int {
	n, err := strconv.Atoi(digits)
	if err != nil {
		return other
	}
	return n
}
