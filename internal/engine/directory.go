// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"cmp"
	"slices"
	"sync"

	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/ledger"
)

// Ask is an ask of an agent that waits for a person.
type Ask struct {
	Agent ledger.Agent
	agent.AskPerson
	// Since is when the waiting began.
	Since agent.Time
}

// AsksOf returns the asks of an agent.
func AsksOf(record ledger.Agent, s agent.State) []Ask {
	var asks []Ask
	for _, ask := range agent.PendingAsks(s) {
		asks = append(asks, Ask{Agent: record, AskPerson: ask, Since: s.AskedAt(ask.Call)})
	}
	return asks
}

// directory holds the live agents that this engine has read, including evicted ones, and the asks below standalone
// tasks. It is complete after a take-over, which reads all live agents.
type directory struct {
	mu     sync.Mutex
	agents map[string]ledger.Agent
	// children maps the UID of an agent to its children: UIDs by the agent's names for them.
	children map[string]map[string]string
	// asks are those below standalone tasks, by the UID of the root and then of the asking agent.
	asks map[string]map[string][]Ask
	// labels are the content labels of the agents of a tree, by the UID of the root. Those of an agent that has ended are
	// also those of its parent.
	labels map[string][]string
	// added and removed are called with the UID of an agent.
	added, removed func(uid string)
}

func newDirectory(added, removed func(uid string)) *directory {
	d := &directory{added: added, removed: removed}
	d.reset()
	return d
}

// set updates the entry of an agent from its state.
func (d *directory) set(record ledger.Agent, s agent.State) {
	if s.Phase.Terminal() || !record.Live() {
		d.remove(record.UID)
		return
	}
	var asks []Ask
	if record.Chat == "" && record.Root != record.UID {
		asks = AsksOf(record, s)
	}
	record.Name = cmp.Or(s.Config.TaskName, record.Name) // users name the agent by its task
	d.added(record.UID)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.agents[record.UID] = record
	if record.Parent != "" {
		if d.children[record.Parent] == nil {
			d.children[record.Parent] = map[string]string{}
		}
		d.children[record.Parent][record.Name] = record.UID
	}
	d.setAsks(record.Root, record.UID, asks)
	for _, label := range s.Labels {
		if !slices.Contains(d.labels[record.Root], label.Name) {
			d.labels[record.Root] = append(slices.Clip(d.labels[record.Root]), label.Name)
		}
	}
}

// treeLabels returns the content labels of the agents of a tree.
func (d *directory) treeLabels(root string) []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Sorted(slices.Values(d.labels[root]))
}

func (d *directory) setAsks(root, uid string, asks []Ask) {
	if len(asks) > 0 {
		if d.asks[root] == nil {
			d.asks[root] = map[string][]Ask{}
		}
		d.asks[root][uid] = asks
		return
	}
	delete(d.asks[root], uid)
	if len(d.asks[root]) == 0 {
		delete(d.asks, root)
	}
}

// remove drops an agent that has ended or was deleted.
func (d *directory) remove(uid string) {
	d.removed(uid)
	d.mu.Lock()
	defer d.mu.Unlock()
	if record, ok := d.agents[uid]; ok {
		d.setAsks(record.Root, uid, nil)
		delete(d.agents, uid)
		delete(d.labels, uid)
		if siblings := d.children[record.Parent]; siblings[record.Name] == uid {
			delete(siblings, record.Name)
			if len(siblings) == 0 {
				delete(d.children, record.Parent)
			}
		}
	}
}

// findChild finds a live child of an agent by the agent's name for it.
func (d *directory) findChild(parent, name string) (uid string, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	uid, ok = d.children[parent][name]
	return uid, ok
}

func (d *directory) find(uid string) (ledger.Agent, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	record, ok := d.agents[uid]
	return record, ok
}

// asksBelow lists the asks below a standalone task, the oldest first.
func (d *directory) asksBelow(root string) []Ask {
	d.mu.Lock()
	defer d.mu.Unlock()
	var all []Ask
	for _, asks := range d.asks[root] {
		all = append(all, asks...)
	}
	SortAsks(all)
	return all
}

// SortAsks sorts asks by age, the oldest first.
func SortAsks(asks []Ask) {
	slices.SortStableFunc(asks, func(a, b Ask) int {
		return cmp.Or(cmp.Compare(a.Since, b.Since), cmp.Compare(a.Agent.Name, b.Agent.Name))
	})
}

// FindLive returns the record of a live agent from memory.
func (e *Engine) FindLive(uid string) (ledger.Agent, bool) { return e.directory.find(uid) }

// AsksBelow lists the asks below the agent of a standalone task, the oldest first, from memory.
func (e *Engine) AsksBelow(root string) []Ask { return e.directory.asksBelow(root) }

// reset drops all entries.
func (d *directory) reset() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.agents, d.children, d.asks = map[string]ledger.Agent{}, map[string]map[string]string{}, map[string]map[string][]Ask{}
	d.labels = map[string][]string{}
}
