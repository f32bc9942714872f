// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package live

import (
	"strings"

	"github.com/nestor-dev/nestor/internal/model"
)

// Source supplies the updates of an agent to a sink from its first reader until its last one has left, when stop is called. The
// hub is locked during both calls: they must not block or use the hub or the sink.
type Source func(uid string, to *Sink) (stop func())

// NewHub returns a hub that a source feeds instead of an engine.
func NewHub(source Source) *Hub { return &Hub{source: source} }

// Sink adds what was read from other hubs to one agent's live state. After the source was stopped, it drops everything.
type Sink struct {
	hub  *Hub
	uid  string
	feed *feed
}

// Add adds an update that was read from the same reader as the one before.
func (s *Sink) Add(update Update) {
	s.change(func(f *feed) {
		if update.Changed || update.Call != f.call {
			f.reset(update.Call)
		}
		f.extend(update)
	})
}

// Begin adds the first update of another reader, of the same hub or another one. The hub's readers are notified of a change,
// because there may have been one in between. Deltas that they have already are not repeated if it is still the same reply.
func (s *Sink) Begin(update Update) {
	update.Changed = true
	s.change(func(f *feed) {
		if rest, ok := continuation(f.deltas, update.Deltas); ok && update.Call == f.call {
			update.Deltas = rest
		} else {
			f.reset(update.Call)
		}
		f.extend(update)
	})
}

// change calls f with the feed, unless the source was stopped.
func (s *Sink) change(f func(*feed)) {
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	if s.hub.feeds[s.uid] == s.feed {
		f(s.feed)
	}
}

// extend adds the deltas of an update and notifies the readers.
func (f *feed) extend(update Update) {
	for _, delta := range update.Deltas {
		f.add(delta)
	}
	f.truncated = f.truncated || update.Truncated
	f.wake(update.Changed)
}

// continuation returns the deltas that follow known ones in a reply, and whether the reply begins with them.
func continuation(earlier, reply []model.Delta) (rest []model.Delta, ok bool) {
	earlier, reply = mergeDeltas(earlier), mergeDeltas(reply)
	if len(earlier) == 0 {
		return reply, true
	}
	last := len(earlier) - 1
	if len(reply) <= last {
		return nil, false
	}
	for i, delta := range earlier[:last] {
		if end, ok := cutDelta(reply[i], delta); !ok || end != (model.Delta{}) {
			return nil, false
		}
	}
	end, ok := cutDelta(reply[last], earlier[last])
	if end != (model.Delta{}) {
		rest = append(rest, end)
	}
	return append(rest, reply[last+1:]...), ok
}

// cutDelta returns the rest of a delta after its beginning.
func cutDelta(delta, beginning model.Delta) (rest model.Delta, ok bool) {
	if kindOf(delta) != kindOf(beginning) {
		return model.Delta{}, false
	}
	var cut [3]bool
	rest.Text, cut[0] = strings.CutPrefix(delta.Text, beginning.Text)
	rest.Reasoning, cut[1] = strings.CutPrefix(delta.Reasoning, beginning.Reasoning)
	rest.Refusal, cut[2] = strings.CutPrefix(delta.Refusal, beginning.Refusal)
	if cut != [3]bool{true, true, true} || delta.ToolCall == nil {
		return rest, cut == [3]bool{true, true, true} && beginning.ToolCall == nil
	}
	return cutToolCall(rest, delta.ToolCall, beginning.ToolCall)
}

func cutToolCall(rest model.Delta, call, beginning *model.ToolCallDelta) (model.Delta, bool) {
	if beginning == nil || call.Index != beginning.Index {
		return rest, false
	}
	name, sameName := strings.CutPrefix(call.Name, beginning.Name)
	arguments, sameArguments := strings.CutPrefix(call.Arguments, beginning.Arguments)
	if name+arguments != "" {
		rest.ToolCall = &model.ToolCallDelta{Index: call.Index, Name: name, Arguments: arguments}
	}
	return rest, sameName && sameArguments
}
