// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/nestor-dev/nestor/internal/cli/picker"
	"github.com/nestor-dev/nestor/internal/cli/terminal"
	"github.com/nestor-dev/nestor/internal/client/follow"
)

// pickChat lets the person choose one of the namespace's chats, those that wait for a person first. Without a terminal it returns an
// error that lists them.
func (s *session) pickChat(ctx context.Context) (string, error) {
	now, err := follow.ReadSnapshot(ctx, s.api, follow.Scope{Namespace: s.namespace})
	if err != nil {
		return "", err
	}
	runs := slices.DeleteFunc(listRuns(now), func(r runRow) bool { return r.Kind != "AgentChat" })
	if !s.interactive() || s.isDumbTerminal() {
		var names []string
		for _, r := range runs {
			names = append(names, r.Name)
		}
		slices.Sort(names)
		return "", usagef("namespace %s has several chats, name one of them: %s", s.namespace, strings.Join(names, ", "))
	}
	widest := 0
	for _, r := range runs {
		widest = max(widest, terminal.Width(r.Name))
	}
	var options []picker.Option
	for _, r := range runs {
		options = append(options, picker.Option{Name: r.Name, Line: fmt.Sprintf("%s  %s  %s  %s", terminal.Pad(r.Name, widest),
			terminal.Pad(terminal.Phase(r.Phase), len("Waiting")), terminal.Pad(terminal.Since(r.CreationTime, s.now()), 5), r.Note)})
	}
	program := tea.NewProgram(picker.New("Chats of namespace "+s.namespace, options), tea.WithContext(ctx), tea.WithInput(s.In), tea.WithOutput(s.Out), tea.WithEnvironment(s.environ), tea.WithoutSignalHandler())
	end, err := program.Run()
	if err != nil {
		return "", fmt.Errorf("choose a chat: %w", err)
	}
	if model, ok := end.(picker.Model); ok && model.Chosen() != "" {
		return model.Chosen(), nil
	}
	return "", exitf(exitCancelled, "no chat was chosen")
}
