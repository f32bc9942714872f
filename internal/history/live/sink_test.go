// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package live

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/model"
)

// sources records what a hub asks of its source.
type sources struct {
	sinks []*Sink
	log   []string
}

func (s *sources) feed(uid string, to *Sink) func() {
	s.sinks = append(s.sinks, to)
	s.log = append(s.log, "start "+uid)
	return func() { s.log = append(s.log, "stop "+uid) }
}

func TestSourceWorksOnlyForReaders(t *testing.T) {
	var s sources
	hub := NewHub(s.feed)
	first, second := hub.Follow("a"), hub.Follow("a")
	s.sinks[0].Add(Update{Call: "m1", Deltas: []model.Delta{text("x")}})
	first.Close()
	second.Close()
	again := hub.Follow("a")
	if diff := cmp.Diff([]string{"start a", "stop a", "start a"}, s.log); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	s.sinks[0].Add(Update{Changed: true, Call: "m1", Deltas: []model.Delta{text("late")}})
	s.sinks[0].Begin(Update{Call: "m1", Deltas: []model.Delta{text("late")}})
	if diff := cmp.Diff(Update{}, again.Read()); diff != "" {
		t.Errorf("a stopped source still reaches readers (-want +got):\n%s", diff)
	}
	again.Close()
	if len(hub.feeds) > 0 {
		t.Errorf("%d feeds without readers are kept", len(hub.feeds))
	}
}

// TestSinkPassesOn lets one hub feed another, with reads in between at random: the readers of both get the same.
func TestSinkPassesOn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var engine Hub
		var s sources
		hub := NewHub(s.feed)
		reader, want, source := hub.Follow("a"), engine.Follow("a"), engine.Follow("a")
		calls := 0
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			switch rapid.IntRange(0, 4).Draw(t, "step") {
			case 0:
				engine.Changed(ledger.Agent{UID: "a"})
			case 1:
				calls++
			case 2:
				s.sinks[0].Add(source.Read())
			default:
				engine.OnDelta("a", fmt.Sprint("m", calls), text(rapid.StringMatching("[a-c]{1,3}").Draw(t, "text")))
			}
		}
		s.sinks[0].Add(source.Read())
		if diff := cmp.Diff(want.Read(), reader.Read()); diff != "" {
			t.Fatalf("(-direct +through the sink):\n%s", diff)
		}
	})
}

// TestBeginContinuesTheReply cuts a reply at every position and begins again with a new reader, as after a lost connection.
func TestBeginContinuesTheReply(t *testing.T) {
	reply := []model.Delta{
		text("He"), text("llo"), {Reasoning: "hm"}, {Reasoning: "m"}, call(0, "read", `{"pa`), call(0, "", `th":1}`), call(1, "ls", "{}"),
		{Text: "x", Reasoning: "y"}, {Text: "x", ToolCall: &model.ToolCallDelta{Index: 2, Name: "n"}}, {Text: "x"}, {Refusal: "no"},
	}
	for cut := range len(reply) + 1 {
		var engine Hub
		var s sources
		hub := NewHub(s.feed)
		reader := hub.Follow("a")
		source := engine.Follow("a")
		s.sinks[0].Begin(source.Read())
		reader.Read()
		var got []model.Delta
		for i, delta := range reply {
			if i == cut {
				s.sinks[0].Add(source.Read())
				update := reader.Read()
				got = append(got, update.Deltas...)
			}
			engine.OnDelta("a", "m1", delta)
		}
		s.sinks[0].Begin(engine.Follow("a").Read())
		update := reader.Read()
		got = append(got, update.Deltas...)
		if diff := cmp.Diff(mergeDeltas(reply), mergeDeltas(got)); diff != "" || !update.Changed {
			t.Errorf("cut at %d: changed %v, (-want +got):\n%s", cut, update.Changed, diff)
		}
	}
}

func TestBeginReplacesAnotherReply(t *testing.T) {
	for name, next := range map[string]Update{
		"another call":      {Call: "m2", Deltas: []model.Delta{text("Hello, ")}},
		"other text":        {Call: "m1", Deltas: []model.Delta{text("Good morning")}},
		"less text":         {Call: "m1", Deltas: []model.Delta{text("Hel")}},
		"fewer deltas":      {Call: "m1"},
		"another kind":      {Call: "m1", Deltas: []model.Delta{{Reasoning: "Hello"}}},
		"another tool call": {Call: "m1", Deltas: []model.Delta{text("Hello"), call(1, "read", "{}")}},
		"other arguments":   {Call: "m1", Deltas: []model.Delta{text("Hello"), call(0, "read", "[]")}},
		"no reply":          {},
	} {
		t.Run(name, func(t *testing.T) {
			var s sources
			reader := NewHub(s.feed).Follow("a")
			s.sinks[0].Begin(Update{Call: "m1", Deltas: []model.Delta{text("Hello"), call(0, "read", "{}")}})
			reader.Read()
			s.sinks[0].Begin(next)
			next.Changed = true
			if diff := cmp.Diff(next, reader.Read()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestLateDeltaOfReadReply adds a delta of a call whose reply a reader has read, after the agent has advanced.
func TestLateDeltaOfReadReply(t *testing.T) {
	var hub Hub
	reader := hub.Follow("a")
	hub.OnDelta("a", "m1", text("one"))
	hub.OnDelta("a", "m1", text("two"))
	reader.Read()
	hub.Changed(ledger.Agent{UID: "a"})
	hub.OnDelta("a", "m1", text("late"))
	if diff := cmp.Diff(Update{Changed: true, Call: "m1", Deltas: []model.Delta{text("late")}}, reader.Read()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
