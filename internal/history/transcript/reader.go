// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package transcript

import (
	"context"

	api "github.com/nestor-dev/nestor/api/history/v1beta1"
	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/ledger"
)

// Events is the part of a ledger that a reader needs.
type Events interface {
	Events(ctx context.Context, uid string, after int64, limit int) ([]ledger.Event, error)
}

// pageBytes is the approximate maximum size of a page of entries.
const pageBytes = 4 << 20

// Reader reads the transcripts of agents. It is safe for concurrent use.
type Reader struct {
	events Events
	cache  positionCache
}

func NewReader(events Events) *Reader { return &Reader{events: events} }

// Cursor is a position in a transcript. Only one goroutine at a time may use it.
type Cursor struct {
	reader   *Reader
	uid      string
	position position
	// since excludes earlier entries, wherever the cursor started.
	since int64
}

// Open returns a cursor after an event; 0 is the beginning.
func (r *Reader) Open(ctx context.Context, uid string, since int64) (*Cursor, error) {
	c := &Cursor{reader: r, uid: uid, position: r.cache.before(uid, since), since: since}
	for c.position.seq < since {
		steps, err := c.steps(ctx, min(since-c.position.seq, ledger.MaxLimit))
		if err != nil {
			return nil, err
		}
		if len(steps) == 0 {
			break // the transcript is shorter than that
		}
		c.advance(steps[len(steps)-1])
		r.cache.add(uid, c.position)
	}
	return c, nil
}

// Tail returns a cursor before the newest n entries, given the seq of the newest event.
func (r *Reader) Tail(ctx context.Context, uid string, last int64, n int) (*Cursor, error) {
	for window := int64(4*n + 16); ; window *= 4 {
		start := max(0, last-window)
		c, err := r.Open(ctx, uid, start)
		if err != nil {
			return nil, err
		}
		newest, err := c.newest(ctx, n)
		if err != nil {
			return nil, err
		}
		if len(newest) == n || start == 0 {
			if len(newest) > 0 {
				start = newest[0] - 1
			}
			return r.Open(ctx, uid, start)
		}
	}
}

// newest reads to the end and returns the sequence numbers of the last n entries.
func (c *Cursor) newest(ctx context.Context, n int) ([]int64, error) {
	var seqs []int64
	for {
		entries, more, err := c.Read(ctx, ledger.MaxLimit)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			seqs = append(seqs, e.Seq)
		}
		seqs = seqs[max(0, len(seqs)-n):]
		if !more {
			return seqs, nil
		}
	}
}

// Seq returns the newest event that the cursor has passed.
func (c *Cursor) Seq() int64 { return c.position.seq }

// Read returns up to limit entries, moves past them, and reports whether there are more.
func (c *Cursor) Read(ctx context.Context, limit int) (entries []api.Entry, more bool, err error) {
	// A client continues with its last entry or with Seq, which is at most a few events further.
	stopped := c.position
	defer func() { c.reader.cache.add(c.uid, stopped) }()
	size := 0
	for {
		steps, err := c.steps(ctx, int64(min(limit-len(entries)+1, ledger.MaxLimit)))
		if err != nil || len(steps) == 0 {
			return entries, false, err
		}
		for _, step := range steps {
			entry, ok := step.Entry()
			wanted := ok && entry.Seq > c.since
			if wanted && (len(entries) == limit || size > pageBytes) {
				return entries, true, nil
			}
			c.advance(step)
			if wanted {
				entries = append(entries, entry)
				size += len(step.Record.Data)
				stopped = c.position
			}
		}
	}
}

// steps reads ahead without moving.
func (c *Cursor) steps(ctx context.Context, limit int64) ([]Step, error) {
	records, err := c.reader.events.Events(ctx, c.uid, c.position.seq, int(limit))
	if err != nil {
		return nil, err
	}
	steps := make([]Step, len(records))
	state := c.position.state
	for i, record := range records {
		step := Step{UID: c.uid, Record: record, Before: state}
		state, step.Event, step.Damage = agent.DecodeAndApply(state, record.Data)
		step.After = state
		steps[i] = step
	}
	return steps, nil
}

func (c *Cursor) advance(s Step) { c.position = position{seq: s.Record.Seq, state: s.After} }
