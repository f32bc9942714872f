// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package follow

import (
	"context"
	"time"

	historyv1 "github.com/nestor-dev/nestor/api/history/v1beta1"
	"github.com/nestor-dev/nestor/internal/client/history"
)

const (
	// firstPause is the pause before the first attempt to connect again, and maxPause the longest one.
	firstPause = 200 * time.Millisecond
	maxPause   = 2 * time.Second
)

type Transcript struct {
	Reader *history.Reader
	Name   string
	// Query is where to start.
	Query history.Query
	// OnlyNew omits what is recorded at the start.
	OnlyNew bool
	// OnError, if set, is called with the error of each attempt that will be repeated. An error that it returns ends Follow.
	OnError func(error) error
	// Wait waits before another attempt, and reports false if ctx has ended; nil means a pause that doubles.
	Wait func(ctx context.Context, failures int) bool
}

// Follow calls each with every recorded entry once, in order, and with the deltas of the current reply, which begin
// again after a lost connection. A transcript that has not started is waited for. Follow returns nil when the agent has
// ended, and an error if the transcript cannot be read, ctx ends, or each returns one.
func (t Transcript) Follow(ctx context.Context, each func(historyv1.Entry) error) error {
	query, ended := t.Query, false
	query.Follow = true
	wait := t.Wait
	if wait == nil {
		wait = pause
	}
	for failures := 0; ; {
		var stop error
		err := t.read(ctx, &query, func(e historyv1.Entry) error {
			failures = 0
			ended = ended || e.Outcome != nil
			stop = each(e)
			return stop
		})
		switch {
		case stop != nil:
			return stop
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case history.IsUnreadable(err):
			return err
		case err == nil && ended: // without the outcome, only the server has ended the stream
			return nil
		case err != nil && t.OnError != nil:
			if err := t.OnError(err); err != nil {
				return err
			}
		}
		if failures++; !wait(ctx, failures) {
			return context.Cause(ctx)
		}
	}
}

// read reads until the connection ends. query is then where the next connection continues.
func (t Transcript) read(ctx context.Context, query *history.Query, each func(historyv1.Entry) error) (err error) {
	if t.OnlyNew && query.Since == 0 {
		if query.Since, err = t.Reader.Newest(ctx, t.Name); err != nil {
			return err
		}
	}
	return t.Reader.Log(ctx, t.Name, *query, func(e historyv1.Entry) error {
		if e.Kind != historyv1.EntryDelta {
			query.Since, query.Tail = e.Seq, 0
		}
		return each(e)
	})
}

func pause(ctx context.Context, failures int) bool {
	select {
	case <-time.After(min(firstPause<<min(failures-1, 10), maxPause)):
		return true
	case <-ctx.Done():
		return false
	}
}
