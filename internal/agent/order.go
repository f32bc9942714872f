// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import "slices"

// maxParallelTools bounds the plain tools of one agent that run at the same time.
const maxParallelTools = 16

// orderedCall is one call of a reply, in the model's order.
//
// The calls of a reply are ordered like the holders of a fair read-write lock: read-only calls and delegations run together, and
// a call that may change something runs alone, after everything before it and before everything after it.
type orderedCall struct {
	// queued calls wait to start; started calls run. A call that is neither waits for a person.
	queued, started bool
	// exclusive calls may change something.
	exclusive bool
	// tool is set for plain tools, which count against maxParallelTools.
	tool bool
	// passable calls do not block an exclusive call after them.
	passable bool
}

// startable returns the indices of the queued calls that may start now. ordered must not contain finished calls.
func startable(ordered []orderedCall) []int {
	running := 0
	for _, p := range ordered {
		if p.tool && p.started {
			running++
		}
	}
	var ready []int
	earlier := false
	for i, p := range ordered {
		waits := (p.exclusive && earlier) || (p.tool && running >= maxParallelTools)
		if p.queued && !waits {
			ready = append(ready, i)
			if p.tool {
				running++
			}
		}
		if p.exclusive {
			break
		}
		earlier = earlier || !p.passable
	}
	return ready
}

// startableCalls returns the indices of the calls of the batch that start now. It is the only place where a call becomes performable: a
// call that policies judge starts in the step that has judged it.
func (s State) startableCalls() []int {
	return slices.DeleteFunc(s.orderedCalls(), func(i int) bool { return s.needsVerdict(s.Batch[i]) })
}

// orderedCalls returns the indices of the queued calls that may start now as far as the calls before them are concerned.
func (s State) orderedCalls() []int {
	if s.Config.Kind == Orchestrator {
		return s.tasksInOrder()
	}
	var ordered []orderedCall
	var indices []int
	for i, c := range s.Batch {
		if c.State == CallDone {
			continue
		}
		p := orderedCall{queued: c.State == CallQueued, started: c.State == CallRunning || c.inFlight(), passable: c.State == CallAsked && c.Input == nil}
		if t, ok := s.plainTool(c.Tool); ok {
			p.tool, p.exclusive = true, !t.ReadOnly
		}
		ordered, indices = append(ordered, p), append(indices, i)
	}
	ready := startable(ordered)
	for i, n := range ready {
		ready[i] = indices[n]
	}
	return ready
}

// tasksInOrder returns the indices of an orchestrator's queued calls whose tasks may start now. Only policies make them wait in the batch.
// A tool does not start before a delegation that the model made first, and a delegation waits for a tool before it that may change
// something.
func (s State) tasksInOrder() []int {
	var ready []int
	unjudged, changes := false, false
	for i, c := range s.Batch {
		if c.State != CallQueued {
			continue
		}
		tool, plain := s.plainTool(c.Tool)
		switch {
		case plain && unjudged, !plain && (changes || s.waitsForTool(c.ModelCall)):
			continue
		case plain:
			changes = changes || !tool.ReadOnly
		default:
			unjudged = unjudged || s.needsVerdict(c)
		}
		ready = append(ready, i)
	}
	return ready
}

// waitsForTool reports whether a task of the reply that may change something is pending.
func (s State) waitsForTool(reply string) bool {
	return slices.ContainsFunc(s.Children.Live, func(c Child) bool { return c.Reply == reply && c.Exclusive && c.pending() })
}

// plainTool finds a tool that is not a control tool and not a role.
func (s State) plainTool(name string) (Tool, bool) {
	if s.Config.reserved(name) {
		return Tool{}, false
	}
	return s.Config.tool(name)
}

// startCalls starts queued calls: a plain tool runs, a delegation starts its children.
func startCalls(s State, indices []int) State {
	for _, i := range indices {
		var c BatchCall
		s, c = s.countWrites(s.Batch[i])
		if _, plain := s.plainTool(c.Tool); plain && s.Config.Kind != Orchestrator {
			c.State = CallRunning
		} else {
			s, c = s.startTasks(c)
		}
		s = s.withCall(i, c)
	}
	return s
}

// startQueued starts queued children of an orchestrator. Its tools run as tasks, in the order of their calls. Delegations wait
// for a tool that may change something. Tools never wait for delegations, because an orchestrator does not wait for them either.
func (c Children) startQueued() Children {
	queued := map[string]bool{}
	for _, child := range c.Live {
		if child.Queued && child.pending() {
			queued[child.Reply] = true
		}
	}
	for reply := range queued {
		var ordered []orderedCall
		var indices []int
		for i, child := range c.Live {
			if child.Reply != reply || !child.pending() {
				continue
			}
			tool := child.Tool != ""
			ordered = append(ordered, orderedCall{
				queued: child.Queued && !child.Cancel, started: !child.Queued, exclusive: child.Exclusive, tool: tool, passable: !tool,
			})
			indices = append(indices, i)
		}
		for _, n := range startable(ordered) {
			c = c.update(indices[n], func(child *Child) { child.Queued = false })
		}
	}
	return c
}
