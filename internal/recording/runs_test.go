// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/ledger"
)

// rows is a ledger that returns at most two events at a time, and counts the runs that are read from it.
type rows struct {
	events map[string][]json.RawMessage
	reads  int
	err    error
}

func (r *rows) Events(_ context.Context, uid string, after int64, _ int) (page []ledger.Event, _ error) {
	if after == 0 {
		r.reads++
	}
	for i := after; i < min(after+2, int64(len(r.events[uid]))); i++ {
		page = append(page, ledger.Event{Seq: i + 1, Data: r.events[uid][i]})
	}
	return page, r.err
}

// record adds events to an agent; the first one starts it.
func (r *rows) record(t *testing.T, uid string, count int) {
	t.Helper()
	if r.events == nil {
		r.events = map[string][]json.RawMessage{}
	}
	for range count {
		var fact agent.Fact = agent.Woke{}
		if len(r.events[uid]) == 0 {
			fact = agent.Started{Config: agent.Config{Kind: agent.SubAgent, Name: uid, Task: agent.Task{Instruction: "Work."}}}
		}
		data, err := agent.EncodeEvent(agent.Event{At: agent.Time(len(r.events[uid]) + 1), Fact: fact})
		if err != nil {
			t.Fatal(err)
		}
		r.events[uid] = append(r.events[uid], data)
	}
}

func (r *rows) damage(uid string, sequence int) { r.events[uid][sequence-1] = json.RawMessage(`{}`) }

func TestRead(t *testing.T) {
	var l rows
	l.record(t, "a", 5)
	count := 0
	read := func() error {
		count = 0
		return Read(t.Context(), &l, "a", func(e agent.Event, s agent.State) {
			count++
			if e.At != agent.Time(count) || s.Clock.Now != e.At {
				t.Errorf("event %d is that of %d, and the state after it that of %d", count, e.At, s.Clock.Now)
			}
		})
	}
	if err := read(); err != nil || count != 5 {
		t.Fatalf("%d events are read, want 5 (%v)", count, err)
	}
	l.damage("a", 4)
	if err := read(); !errors.Is(err, ErrUnreadable) || count != 3 {
		t.Errorf("%d events before a damaged one are read, want 3 (%v)", count, err)
	}
	l.err = ledger.ErrNotFound
	if err := read(); !errors.Is(err, ledger.ErrNotFound) || count != 0 {
		t.Errorf("%d events of a run that does not exist are read (%v)", count, err)
	}
}

func TestRunsAreKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l rows
		runs := NewRuns(&l)
		for i := range 10 {
			l.record(t, fmt.Sprint(i), keptEvents/8)
		}
		l.record(t, "long", keptEvents+1)
		l.record(t, "damaged", 6)
		l.damage("damaged", 5)
		check := func(uid string, last int64, reads int) {
			t.Helper()
			before := l.reads
			run, err := runs.Read(t.Context(), uid, last)
			if err != nil {
				t.Fatal(err)
			}
			if l.reads != before+reads {
				t.Errorf("the run %s is read %d times, want %d", uid, l.reads-before, reads)
			}
			if run.State(0).Phase != agent.PhaseNew || run.State(run.Last()).Clock.Now != run.Events[run.Last()-1].At {
				t.Errorf("the states of the run %s are not those after its events", uid)
			}
		}
		check("0", 1, 1)
		check("0", keptEvents/8, 0)
		check("long", 1, 1) // more than is kept
		check("long", 1, 1)
		check("0", 1, 0)
		check("damaged", 4, 1)
		check("damaged", 4, 0)
		check("damaged", 6, 1) // the damaged event may have been mended

		for i := 1; i < 9; i++ {
			check(fmt.Sprint(i), 1, 1)
		}
		check("1", 1, 0)
		check("9", 1, 1) // the oldest is forgotten, which is not the one that was just used
		check("1", 1, 0)
		check("2", 1, 1)

		before := len(l.events["1"])
		l.record(t, "1", 1)
		check("1", int64(before)+1, 1)     // it has continued
		time.Sleep(keptTime + time.Second) //nolint:forbidigo // fake time of synctest
		check("1", 1, 1)
	})
}
