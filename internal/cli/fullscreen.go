// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"

	tea "charm.land/bubbletea/v2"

	"github.com/nestor-dev/nestor/api/v1alpha1"
	"github.com/nestor-dev/nestor/internal/cli/chatui"
	"github.com/nestor-dev/nestor/internal/cli/live"
)

// fullScreen shows a chat until the person leaves.
func (s *session) fullScreen(ctx context.Context, chat string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	snapshots, err := live.Watch(ctx, s.cluster(), live.Scope{Namespace: s.namespace, Chat: chat})
	if err != nil {
		return err
	}
	model := chatui.New(ctx, chat, s.namespace, chatActions{s, chat}, s.now())
	program := tea.NewProgram(model, tea.WithContext(ctx), tea.WithInput(s.In), tea.WithOutput(s.Out), tea.WithEnvironment(s.environ), tea.WithoutSignalHandler())
	streams := newStreams(s.history(), program.Send)
	go func() {
		for now := range snapshots {
			streams.follow(ctx, chat, now)
			program.Send(chatui.Updated(now))
		}
		if ctx.Err() == nil {
			program.Send(chatui.Ended{Err: errors.New("the watch ended")})
		}
	}()
	if _, err := program.Run(); err != nil && ctx.Err() == nil {
		return fmt.Errorf("show the chat: %w", err)
	}
	s.say("The agents keep running. To return to the chat: kubectl nestor chat %s", chat)
	return nil
}

// chatActions performs the actions of the screen in the cluster.
type chatActions struct {
	s    *session
	chat string
}

// Say implements chatui.Actions.
func (a chatActions) Say(ctx context.Context, text, inReplyTo string) error {
	_, err := a.s.post(ctx, v1alpha1.AgentMessageSpec{Chat: a.chat, Content: text, InReplyTo: inReplyTo})
	return explain(err)
}

// Whole implements chatui.Actions.
func (a chatActions) Whole(ctx context.Context, ask live.Ask) (live.Ask, error) {
	ctx, cancel := within(ctx, actionTime)
	defer cancel()
	return a.s.whole(ctx, ask)
}

// Decide implements chatui.Actions.
func (a chatActions) Decide(ctx context.Context, ask live.Ask, d v1alpha1.Decision, comment string) error {
	if err := a.s.mayDecide(ctx, ask); err != nil {
		return err
	}
	return a.postAndSettle(ctx, decision(ask, d, comment))
}

// Cancel implements chatui.Actions.
func (a chatActions) Cancel(ctx context.Context, task string) error {
	return a.postAndSettle(ctx, v1alpha1.AgentMessageSpec{Chat: a.chat, Cancel: &v1alpha1.Cancel{Task: task}})
}

func (a chatActions) postAndSettle(ctx context.Context, spec v1alpha1.AgentMessageSpec) error {
	message, err := a.s.post(ctx, spec)
	if err != nil {
		return explain(err)
	}
	ctx, cancel := within(ctx, actionTime)
	defer cancel()
	return explainTimeout(a.s.settled(ctx, message), "the operator does not respond")
}
