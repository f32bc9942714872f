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
			waits for a person, which comes first. Enter opens the agents of a run, and then the transcript of an agent.

			Keys:
			  up, down, pgup, pgdn   choose or scroll; also k and j
			  enter                  open: a run's agents, an agent's transcript
			  esc                    back
			  /                      show only rows with a text; esc shows all again
			  s                      sort: what waits first, tokens, cost, age, name
			  n                      switch to another namespace
			  d                      diff of the workspace
			  y                      YAML of the chat or task
			  a                      show the call that waits for approval; then a approves it, e edits its arguments, x denies it
			  r                      answer the question of an agent
			  ctrl+x, twice          cancel the run, or the agent and everything below it
			  c                      open the chat; leaving it returns here
			  ?                      list the keys
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
		topui.Table(now, s.now(), o.all.set, s.width()).FitLast(s.width(), "ITER", "COST", "TOKENS", "AGE", "ROLE").Print(s.humanOutput())
		return nil
	}
	model := s.newTop(ctx, scope)
	for {
		var err error
		if model, err = s.showTop(ctx, scope, model); err != nil {
			return err
		}
		if model.SwitchesNamespace() {
			namespace, chosen, err := s.pickNamespace(ctx)
			model = model.Resume()
			switch {
			case ctx.Err() != nil:
				return err
			case err != nil:
				model = model.WithNotice("error: " + explain(err).Error())
			case chosen:
				scope = follow.Scope{Namespace: namespace}
				model = s.newTop(ctx, scope)
			}
			continue
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

// newTop returns the screen of a namespace, or of all.
func (s *session) newTop(ctx context.Context, scope follow.Scope) topui.Model {
	if scope.Namespace == "" {
		return topui.New(ctx, topActions{s}, "all namespaces", true, s.now())
	}
	return topui.New(ctx, topActions{s}, "namespace "+scope.Namespace, false, s.now())
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
