// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/cli/picker"
	"github.com/nestor-dev/nestor/internal/cli/terminal"
	"github.com/nestor-dev/nestor/internal/client/follow"
)

// pickChat lets the person choose one of the namespace's chats, those that wait for a person first. Without a terminal
// it returns an error that lists them.
func (s *session) pickChat(ctx context.Context) (string, error) {
	snapshot, err := follow.ReadSnapshot(ctx, s.api, follow.Scope{Namespace: s.namespace})
	if err != nil {
		return "", err
	}
	rows := slices.DeleteFunc(listRuns(snapshot), func(r runRow) bool { return r.Kind != "AgentChat" })
	if !s.interactive() || s.isDumbTerminal() {
		var names []string
		for _, r := range rows {
			names = append(names, r.Name)
		}
		slices.Sort(names)
		return "", usagef("namespace %s has several chats, name one of them: %s", s.namespace, strings.Join(names, ", "))
	}
	widest := 0
	for _, r := range rows {
		widest = max(widest, terminal.Width(r.Name))
	}
	var options []picker.Option
	for _, r := range rows {
		phase := terminal.Pad(terminal.Phase(r.Phase), len("Waiting"))
		age := terminal.Pad(terminal.Since(r.CreationTime, s.now()), 5)
		line := fmt.Sprintf("%s  %s  %s  %s", terminal.Pad(r.Name, widest), phase, age, r.Note)
		options = append(options, picker.Option{Name: r.Name, Line: line})
	}
	options = append(options, picker.Option{Name: newChatOption, Line: terminal.Faint.Render("new chat")})
	name, err := s.pick(ctx, "Chats of namespace "+s.namespace, options)
	switch {
	case err != nil:
		return "", err
	case name == newChatOption:
		return s.createChat(ctx, s.newChatObject(""))
	case name == "":
		return "", exitf(exitCancelled, "no chat was chosen")
	}
	return name, nil
}

// newChatOption is the name of the row that creates a chat; no chat can have it.
const newChatOption = "+"

// createChat creates a chat and returns its name.
func (s *session) createChat(ctx context.Context, chat *v1beta1.AgentChat) (string, error) {
	if err := s.api.Create(ctx, chat); err != nil {
		return "", fmt.Errorf("create a chat: %w", err)
	}
	return chat.Name, nil
}
