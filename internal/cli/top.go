// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"

	tea "charm.land/bubbletea/v2"
	"github.com/spf13/cobra"

	"github.com/nestor-dev/nestor/internal/cli/topui"
	"github.com/nestor-dev/nestor/internal/client/follow"
)

type topOptions struct{ all allNamespaces }

func newTop(f *Factory) *cobra.Command {
	o := topOptions{}
	cmd := &cobra.Command{
		Use:   "top",
		Short: "Show live agents on a full screen: tokens per second, waits and cost",
		Long: dedent(`
			Show live agents on a full screen: chats and standalone tasks with their tokens, tokens per second, cost, and what
			waits for a person, which comes first. Enter opens the agents of a run, and then what an agent was asked and did.

			Keys:
			  up, down, pgup, pgdn   choose or scroll; also k and j
			  enter                  open: a run's agents, an agent's messages and calls
			  esc                    back
			  c                      open the chat, to talk and decide; leaving it returns here
			  q, ctrl+c              leave

			Tokens per second are averaged over 15 seconds. A cost of "-" is unknown, not zero; a "+" after the total means that
			some prices are unknown. Without a terminal, the runs are printed once.
		`),
		Example: dedent(`
			# The namespace
			kubectl nestor top

			# All namespaces
			kubectl nestor top -A
		`),
		Args:              argCount(0, 0, "no arguments"),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              f.runE(func(ctx context.Context, s *session, _ []string) error { return o.run(ctx, s) }),
	}
	o.all.register(cmd)
	return cmd
}

func (o *topOptions) run(ctx context.Context, s *session) error {
	scope := follow.Scope{Namespace: o.all.namespace(s)}
	if !s.interactive() || s.isDumbTerminal() {
		now, err := follow.ReadSnapshot(ctx, s.api, scope)
		if err != nil {
			return err
		}
		topui.Table(now, s.now(), o.all.set).FitLast(s.width(), "ITER", "COST", "TOKENS", "AGE", "ROLE").Print(s.humanOutput())
		return nil
	}
	place := "namespace " + s.namespace
	if o.all.set {
		place = "all namespaces"
	}
	model := topui.New(place, o.all.set, s.now())
	for {
		var err error
		if model, err = s.showTop(ctx, scope, model); err != nil {
			return err
		}
		chat := model.Open()
		if chat.Name == "" {
			return nil
		}
		in := *s
		in.namespace = chat.Namespace
		if err := in.runFullScreen(ctx, chat.Name); err != nil {
			return err
		}
		model = model.Resume()
	}
}

// showTop shows the screen until the person leaves or opens a chat.
func (s *session) showTop(ctx context.Context, scope follow.Scope, model topui.Model) (topui.Model, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	snapshots, err := follow.Watch(ctx, s.cluster(), scope)
	if err != nil {
		return model, err
	}
	program := tea.NewProgram(model, tea.WithContext(ctx), tea.WithInput(s.In), tea.WithOutput(s.Out), tea.WithEnvironment(s.environ), tea.WithoutSignalHandler())
	go func() {
		for now := range snapshots {
			program.Send(topui.Updated(now))
		}
	}()
	end, err := program.Run()
	if err != nil && ctx.Err() == nil {
		return model, fmt.Errorf("show the agents: %w", err)
	}
	if last, ok := end.(topui.Model); ok {
		return last, nil
	}
	return model, nil
}
