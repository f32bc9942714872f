// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"iter"
	"slices"
	"time"

	historyv1 "github.com/nestor-dev/nestor/api/history/v1beta1"
	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/client/follow"
	"github.com/nestor-dev/nestor/internal/view"
)

// quietTime is how long a chat may be idle without a reply before its turn counts as ended: its status follows its
// work with a delay.
const quietTime = 3 * time.Second

// FollowChat returns the events of a chat after a cursor until it has handled a message. Without an error, the last
// event is End. The chat may wait for a person in between.
func (c *Caller) FollowChat(ctx context.Context, namespace, chat, message string, from Cursor) iter.Seq2[Event, error] {
	return events(ctx, func(ctx context.Context, emit func(Event) error) error {
		f := &chatFollower{caller: c, namespace: namespace, chat: chat, message: message, entries: make(chan historyv1.Entry)}
		f.stream = &eventStream{
			history: c.history(namespace), transcript: historyv1.TranscriptName("AgentChat", chat), live: &chatText{}, cursor: from,
			skip: from.Offset, emit: emit,
		}
		return f.run(ctx)
	})
}

type chatFollower struct {
	caller                   *Caller
	namespace, chat, message string
	stream                   *eventStream
	entries                  chan historyv1.Entry
	waiting                  string
}

func (f *chatFollower) run(ctx context.Context) error {
	snapshots, err := follow.Watch(ctx, f.caller.cluster(), follow.Scope{Namespace: f.namespace, Chat: f.chat})
	if err != nil {
		return err
	}
	go f.stream.follow(ctx, f.stream.cursor.Seq, f.entries)
	quiet := time.NewTimer(quietTime)
	quiet.Stop()
	defer quiet.Stop()
	var now view.Snapshot
	for {
		select {
		case snapshot, open := <-snapshots:
			if !open {
				return context.Cause(ctx)
			}
			now = snapshot
			progress := now.ProgressOf(f.chat, f.message, messagesUpTo(now, f.message))
			if progress == view.Quiet {
				quiet.Reset(quietTime)
				continue
			}
			quiet.Stop()
			ended, err := f.update(ctx, now, progress)
			if ended || err != nil {
				return err
			}
		case <-quiet.C:
			return f.end(ctx, now, view.Answered)
		case e := <-f.entries:
			if err := f.stream.handle(e); err != nil {
				return err
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// messagesUpTo counts the messages of a chat up to a message, as ProgressOf expects.
func messagesUpTo(now view.Snapshot, message string) int {
	if i := slices.IndexFunc(now.Messages, func(m v1beta1.AgentMessage) bool { return m.Name == message }); i >= 0 {
		return i + 1
	}
	return len(now.Messages)
}

// update emits the events of a new state of the chat, and reports whether it has handled the message.
func (f *chatFollower) update(ctx context.Context, now view.Snapshot, progress view.Progress) (ended bool, err error) {
	asks := now.Asks(f.chat)
	if progress == view.NeedsPerson && len(asks) > 0 {
		ask := &Ask{Ask: asks[0], Namespace: f.namespace}
		if ask.ID() == f.waiting {
			return false, nil
		}
		f.caller.complete(ctx, ask)
		if err := f.stream.catchUp(ctx); err != nil {
			return false, err
		}
		f.waiting = ask.ID()
		return false, f.stream.emit(Event{Kind: Waiting, Cursor: f.stream.cursor, Ask: ask, Chat: now.Chat(f.chat)})
	}
	if f.waiting != "" && progress == view.Working {
		f.waiting = ""
		return false, f.stream.emit(Event{Kind: Working, Cursor: f.stream.cursor, Chat: now.Chat(f.chat)})
	}
	if progress == view.Working {
		return false, nil
	}
	return true, f.end(ctx, now, progress)
}

func (f *chatFollower) end(ctx context.Context, now view.Snapshot, progress view.Progress) error {
	if err := f.stream.catchUp(ctx); err != nil {
		return err
	}
	return f.stream.emit(Event{Kind: End, Cursor: f.stream.cursor, Progress: progress, Chat: now.Chat(f.chat)})
}

// chatText reads the answer of a chat: what its orchestrator writes.
type chatText struct {
	call string
	text string
}

func (t *chatText) add(e historyv1.Entry) string {
	if e.ModelCall != t.call {
		*t = chatText{call: e.ModelCall}
	}
	t.text += e.Delta.Text
	return t.text
}

func (t *chatText) recordedText(e historyv1.Entry) string {
	if e.Kind != historyv1.EntryAssistant {
		return ""
	}
	return e.Content
}
