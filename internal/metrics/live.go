// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"maps"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/engine"
)

var (
	agents = prometheus.NewDesc("nestor_agents", "Agents that have not ended, by kind and phase, such as `Active`, `Idle`, `WaitingForUser` or `WaitingForApproval`.",
		[]string{"kind", "standing"}, nil)
	longestWait = prometheus.NewDesc("nestor_longest_wait_for_person_seconds", "The longest current wait of an agent for an answer or a decision; 0 if none waits.", nil, nil)
)

// live tracks the stages of all live agents of the shards that this process owns, including evicted ones: an engine that takes over a shard
// reports all of them.
type live struct {
	now func() time.Time

	mu     sync.Mutex
	agents map[string]agentStage
}

// agentStage is the stage of an agent. since is when it started to wait for a person, or zero.
type agentStage struct {
	kind  string
	hash  int // of its tree
	stage agent.Stage
	since agent.Time
}

// waitingSince returns when the agent first asked for what it still waits for. It is read from the calls, which another operator
// may have recorded long ago.
func waitingSince(s agent.State) agent.Time {
	since := agent.Time(0)
	for _, c := range s.Batch {
		waits := c.State == agent.CallAsked || c.State == agent.CallUndecided
		at := c.At
		if c.Input != nil {
			at = c.Input.At
		}
		if waits && (since == 0 || at < since) {
			since = at
		}
	}
	return since
}

// update updates the stage of an agent after a change.
func (l *live) update(c engine.Change) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c.Deleted || c.After.Phase.Terminal() {
		delete(l.agents, c.Agent.UID)
		return
	}
	l.agents[c.Agent.UID] = agentStage{kind: c.Agent.Kind, hash: c.Agent.ShardHash, stage: c.After.Stage(), since: waitingSince(c.After)}
}

// drop drops the agents of the trees with certain hashes.
func (l *live) drop(contains func(hash int) bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	maps.DeleteFunc(l.agents, func(_ string, s agentStage) bool { return contains(s.hash) })
}

func (l *live) Describe(descriptions chan<- *prometheus.Desc) {
	descriptions <- agents
	descriptions <- longestWait
}

func (l *live) Collect(metrics chan<- prometheus.Metric) {
	type labels struct{ kind, stage string }
	counts := map[labels]int{}
	longest := time.Duration(0)
	l.mu.Lock()
	for _, s := range l.agents {
		counts[labels{s.kind, string(s.stage)}]++
		if s.since > 0 {
			longest = max(longest, l.now().Sub(time.UnixMilli(int64(s.since))))
		}
	}
	l.mu.Unlock()
	for key, n := range counts {
		metrics <- prometheus.MustNewConstMetric(agents, prometheus.GaugeValue, float64(n), key.kind, key.stage)
	}
	metrics <- prometheus.MustNewConstMetric(longestWait, prometheus.GaugeValue, longest.Seconds())
}
