// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	historyv1 "github.com/nestor-dev/nestor/api/history/v1beta1"
	"github.com/nestor-dev/nestor/internal/client/follow"
	"github.com/nestor-dev/nestor/internal/client/history"
)

const (
	// reconnectPause is the pause before the record is read again.
	reconnectPause = 200 * time.Millisecond
	// catchUpTimeout limits how long the end of a run waits for a history that cannot be read at the moment.
	catchUpTimeout = 15 * time.Second
)

var errStopped = errors.New("the reader stopped")

// events returns the events that follow emits as an iterator. The context of follow ends with the iteration.
func events(ctx context.Context, follow func(ctx context.Context, emit func(Event) error) error) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		err := follow(ctx, func(e Event) error {
			if !yield(e, nil) {
				return errStopped
			}
			return nil
		})
		if err != nil && !errors.Is(err, errStopped) {
			yield(Event{}, err)
		}
	}
}

// eventStream turns the transcript of a run into events.
type eventStream struct {
	history    *history.Reader
	transcript string // empty until it is known
	emit       func(Event) error
	live       liveText
	cursor     Cursor
	// delivered is the text since the entry at the cursor. skip is how many bytes of it were delivered before this stream
	// began.
	delivered string
	skip      int
	void      bool
	// blind reports that the caller may not read the transcript, or that it is not served.
	blind bool
	// outcome is that of the agent, once it has ended.
	outcome *historyv1.Outcome
}

// liveText returns the text of an answer while it streams in, and the text of a recorded entry.
type liveText interface {
	// add returns the whole text of the reply so far.
	add(entry historyv1.Entry) string
	// recordedText returns the text of an entry.
	recordedText(entry historyv1.Entry) string
}

// handle emits the events of the transcript's entry. Entries before the cursor are skipped.
func (s *eventStream) handle(e historyv1.Entry) error {
	if e.Kind == historyv1.EntryDelta {
		text := s.live.add(e)
		if e.Seq < s.cursor.Seq {
			return nil // catchUp was faster than the stream: the reply may be recorded by now
		}
		return s.extend(text)
	}
	if e.Seq <= s.cursor.Seq {
		return nil
	}
	if e.Outcome != nil {
		s.outcome = e.Outcome
	}
	text := s.live.recordedText(e)
	if err := s.extend(text); err != nil {
		return err
	}
	endsReply := e.Kind == historyv1.EntryAssistant || e.Kind == historyv1.EntryError
	if text == "" && (s.delivered != "" || s.skip > 0 && endsReply) {
		s.void = true // the reply broke off, or did not end the run
	}
	if endsReply {
		s.skip = 0
	}
	s.cursor, s.delivered = Cursor{Seq: e.Seq, Offset: s.skip}, ""
	return s.emit(Event{Kind: Entry, Cursor: s.cursor, Entry: &e})
}

// extend emits the part of text that is not delivered yet.
func (s *eventStream) extend(text string) error {
	if text == "" {
		return nil
	}
	begin := s.delivered == "" && s.skip == 0
	if s.skip > 0 {
		if len(text) < s.skip {
			return nil // it was delivered before
		}
		s.delivered, s.skip = text[:s.skip], 0
	}
	if s.void || !strings.HasPrefix(text, s.delivered) {
		s.void, s.delivered, begin = false, "", true
		if err := s.emit(Event{Kind: Replace, Cursor: s.cursor}); err != nil {
			return err
		}
	}
	piece := text[len(s.delivered):]
	if piece == "" {
		return nil
	}
	s.delivered = text
	s.cursor.Offset = len(text)
	return s.emit(Event{Kind: Text, Cursor: s.cursor, Text: piece, Begin: begin})
}

// follow sends the entries of the transcript until the agent or ctx ends, or the caller may not read it.
func (s *eventStream) follow(ctx context.Context, since int64, entries chan<- historyv1.Entry) {
	transcript := follow.Transcript{Reader: s.history, Name: s.transcript, Query: history.Query{Since: since, Deltas: true}}
	_ = transcript.Follow(ctx, func(e historyv1.Entry) error { // catchUp detects a transcript that cannot be read
		select {
		case entries <- e:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})
}

// catchUp emits everything that is recorded. The state of a run is derived from its history, so the history has every
// entry that led to the state.
func (s *eventStream) catchUp(ctx context.Context) error {
	if s.transcript == "" || s.blind {
		return nil
	}
	limited, cancel := context.WithTimeout(ctx, catchUpTimeout)
	defer cancel()
	for {
		var stopped error
		err := s.history.Log(limited, s.transcript, history.Query{Since: s.cursor.Seq}, func(e historyv1.Entry) error {
			stopped = s.handle(e)
			return stopped
		})
		switch {
		case stopped != nil:
			return stopped
		case err == nil:
			return nil
		case history.IsUnreadable(err) || apierrors.IsNotFound(err):
			s.blind = history.IsUnreadable(err)
			return nil
		}
		select {
		case <-time.After(reconnectPause):
		case <-limited.Done():
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return nil // the caller reports the state of the run without these entries
		}
	}
}

// lastOutcome returns the outcome in the last entry of the transcript, or nil.
func (s *eventStream) lastOutcome(ctx context.Context) (outcome *historyv1.Outcome) {
	if s.transcript == "" || s.blind {
		return nil
	}
	// Without it, the answer in the status is used.
	_ = s.history.Log(ctx, s.transcript, history.Query{Tail: 1}, func(e historyv1.Entry) error {
		outcome = e.Outcome
		return nil
	})
	return outcome
}

// Newest returns the position after the last recorded entry of a chat.
func (c *Caller) Newest(ctx context.Context, namespace, chat string) (Cursor, error) {
	if err := checkNames(namespace, chat); err != nil {
		return Cursor{}, err
	}
	seq, err := c.history(namespace).Newest(ctx, historyv1.TranscriptName("AgentChat", chat))
	if history.IsUnreadable(err) || apierrors.IsNotFound(err) {
		return Cursor{}, nil
	}
	if err != nil {
		return Cursor{}, fmt.Errorf("read the history: %w", err)
	}
	return Cursor{Seq: seq}, nil
}
