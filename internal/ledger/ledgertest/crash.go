// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package ledgertest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/nestor-dev/nestor/internal/ledger"
)

// crashEvents is the number of events in a batch of AppendForever.
const crashEvents = 3

// AppendForever appends to an agent as fast as it can until an append fails, and calls acknowledged with the agent's newest
// sequence number after each append. Each batch starts a model call and ends that of the previous batch. After a conflict it
// continues from the other writer's last event.
func AppendForever(ctx context.Context, l ledger.Ledger, uid string, acknowledged func(seq int64)) error {
	for {
		err := appendUntilFailure(ctx, l, uid, acknowledged)
		var conflict *ledger.ConflictError
		if !errors.As(err, &conflict) {
			return err
		}
	}
}

func appendUntilFailure(ctx context.Context, l ledger.Ledger, uid string, acknowledged func(seq int64)) error {
	agent, err := l.Agent(ctx, uid)
	batch := ledger.Batch{Agent: uid, After: agent.LastSeq}
	if errors.Is(err, ledger.ErrNotFound) {
		batch.Create, err = ptr(Agent(uid)), nil
	}
	for err == nil {
		batch.Events = crashBatch(uid, batch.After)
		batch.ModelCalls = []ledger.ModelCall{modelCall(crashKey(uid, batch.After+crashEvents), 1)}
		if batch.After > 0 {
			batch.ModelResults = []ledger.ModelResult{modelDone(crashKey(uid, batch.After), ledger.StatusSuccess, 2)}
		}
		if err = l.Append(ctx, batch); err == nil {
			batch.After += crashEvents
			batch.Create = nil
			acknowledged(batch.After)
		}
	}
	return err
}

func crashKey(uid string, seq int64) string { return fmt.Sprintf("%s/%d", uid, seq) }

// crashBatch returns the events that AppendForever writes after a sequence number; each contains its position.
func crashBatch(uid string, after int64) []ledger.Event {
	events := make([]ledger.Event, crashEvents)
	for i := range events {
		data := fmt.Sprintf(`{"agent": %q, "seq": %d}`, uid, after+int64(i)+1)
		events[i] = ledger.Event{Type: "Tested", At: start, Data: json.RawMessage(data)}
	}
	return events
}

// Acknowledged tracks the events that a ledger has acknowledged. Use NewAcknowledged.
type Acknowledged struct {
	writers int64
	mu      sync.Mutex
	last    map[string]int64
}

// NewAcknowledged returns an empty Acknowledged for this number of writers per agent.
func NewAcknowledged(writers int64) *Acknowledged {
	return &Acknowledged{writers: writers, last: map[string]int64{}}
}

// Add records that the events of an agent up to seq were acknowledged.
func (a *Acknowledged) Add(uid string, seq int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.last[uid] = max(a.last[uid], seq)
}

// Events returns the number of acknowledged events.
func (a *Acknowledged) Events() int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	var n int64
	for _, seq := range a.last {
		n += seq
	}
	return n
}

// Check fails the test unless every acknowledged event exists, in histories without gaps or duplicates. Beyond them there may be
// at most one batch of each writer, which was in flight during the crash. Events that Check has read must exist from then on.
func (a *Acknowledged) Check(t testing.TB, l ledger.Ledger) {
	t.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	for uid, acknowledged := range a.last {
		history, err := l.Load(t.Context(), uid)
		if err != nil {
			t.Fatalf("agent %s: %v", uid, err)
		}
		last := history.Agent.LastSeq
		if last < acknowledged || last > acknowledged+a.writers*crashEvents || last%crashEvents != 0 {
			t.Errorf("agent %s is at %d, but %d was acknowledged", uid, last, acknowledged)
		}
		if int64(len(history.Events)) != last {
			t.Fatalf("agent %s is at %d and has %d events", uid, last, len(history.Events))
		}
		for i, e := range history.Events {
			seq := int64(i) + 1
			if want := crashBatch(uid, seq-1)[0]; e.Seq != seq || string(e.Data) != string(want.Data) {
				t.Fatalf("agent %s: event %d at position %d is %s", uid, e.Seq, seq, e.Data)
			}
		}
		open, err := l.OpenCalls(t.Context(), uid)
		if err != nil || len(open.Models) != 1 || open.Models[0].Key != crashKey(uid, last) {
			t.Errorf("agent %s: open calls %v (%v), want the one that event %d started", uid, open.Models, err, last)
		}
		a.last[uid] = last
	}
}
