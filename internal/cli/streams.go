// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"time"

	tea "charm.land/bubbletea/v2"

	historyv1 "github.com/nestor-dev/nestor/api/history/v1beta1"
	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/cli/chatui"
	"github.com/nestor-dev/nestor/internal/client/follow"
	"github.com/nestor-dev/nestor/internal/client/history"
	"github.com/nestor-dev/nestor/internal/view"
)

// actionTimeout is how long an action of the screen waits for the operator.
const actionTimeout = 30 * time.Second

// maxStreams limits how many agents stream at once; the others are shown by their status.
const maxStreams = 12

// streams receives the replies of a chat's agents while they stream in. Without the history API nothing streams, and
// only messages are shown.
type streams struct {
	reader    *history.Reader
	send      func(tea.Msg)
	cancels   map[string]context.CancelFunc
	notServed chan struct{} // closed when the history API is found not to be served
}

func newStreams(reader *history.Reader, emit func(tea.Msg)) *streams {
	return &streams{reader: reader, send: emit, cancels: map[string]context.CancelFunc{}, notServed: make(chan struct{}, 1)}
}

// follow streams the orchestrator and the active agents. Only one goroutine may call it.
func (s *streams) follow(ctx context.Context, chat string, now view.Snapshot) {
	select {
	case <-s.notServed:
		s.reader = nil
	default:
	}
	if s.reader == nil {
		return
	}
	s.startStream(ctx, "", historyv1.TranscriptName("AgentChat", chat))
	for _, agent := range now.Agents {
		if agent.Status.Phase == v1beta1.SubAgentActive {
			s.startStream(ctx, agent.Name, historyv1.TranscriptName("SubAgent", agent.Name))
			continue
		}
		if stop := s.cancels[agent.Name]; stop != nil {
			stop()
			delete(s.cancels, agent.Name)
		}
	}
}

func (s *streams) startStream(ctx context.Context, agent, transcript string) {
	if s.cancels[agent] != nil || len(s.cancels) >= maxStreams {
		return
	}
	ctx, s.cancels[agent] = context.WithCancel(ctx)
	go s.stream(ctx, s.reader, agent, transcript)
}

// stream forwards the deltas of an agent's replies.
func (s *streams) stream(ctx context.Context, reader *history.Reader, agent, transcript string) {
	call := ""
	err := follow.Transcript{Reader: reader, Name: transcript, Query: history.Query{Deltas: true}, OnlyNew: true}.Follow(ctx, func(e historyv1.Entry) error {
		s.forward(agent, e, e.ModelCall != call)
		call = e.ModelCall
		return nil
	})
	if errors.Is(err, history.ErrNotServed) {
		select {
		case s.notServed <- struct{}{}:
		default:
		}
	}
}

// forward forwards a delta to the screen. The first delta of another model call replaces the text, because a failed call
// is retried.
func (s *streams) forward(agent string, e historyv1.Entry, another bool) {
	switch {
	case e.Kind == historyv1.EntryDelta && e.Delta != nil:
		if e.Delta.Text != "" || e.Delta.Reasoning != "" || another {
			s.send(chatui.Delta{Agent: agent, Text: e.Delta.Text, Reasoning: e.Delta.Reasoning, Reset: another})
		}
	case e.Kind == historyv1.EntryAssistant && agent == "":
		// Keep the orchestrator's reply until its message arrives, so that the text does not flicker.
		s.send(chatui.Delta{Complete: e.Content, Reset: e.Content == ""})
	case e.Kind == historyv1.EntryAssistant:
		s.send(chatui.Delta{Agent: agent, Reset: true})
	}
}
