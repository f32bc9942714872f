// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"context"
	"fmt"

	tea "charm.land/bubbletea/v2"
	corev1 "k8s.io/api/core/v1"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/cli/picker"
	"github.com/nestor-dev/nestor/internal/cli/terminal"
	"github.com/nestor-dev/nestor/internal/cli/topui"
	"github.com/nestor-dev/nestor/internal/client/follow"
	"github.com/nestor-dev/nestor/internal/view"
)

// topActions runs the commands of the command line for the screen.
type topActions struct{ s *session }

// in returns a session in a namespace that writes into a buffer.
func (a topActions) in(namespace string) (*session, *bytes.Buffer) {
	out := &bytes.Buffer{}
	s := *a.s
	s.namespace, s.In, s.Out, s.ErrOut = namespace, &bytes.Buffer{}, out, out
	return &s, out
}

func nameOf(t topui.Target) string {
	if t.Task != "" {
		return "task/" + t.Task
	}
	return "chat/" + t.Chat
}

func (a topActions) Read(ctx context.Context, of topui.Target, text topui.Text) (string, error) {
	ctx, cancel := withTimeout(ctx, actionTimeout)
	defer cancel()
	s, out := a.in(of.Namespace)
	var err error
	switch text {
	case topui.TextTranscript:
		err = (&transcriptOptions{}).run(ctx, s, []string{nameOf(of)})
	case topui.TextDiff:
		err = printWorkspaceDiff(ctx, s, []string{nameOf(of)})
	case topui.TextYAML:
		err = s.printYAML(ctx, nameOf(of))
	}
	if err == nil && out.Len() == 0 {
		return "(nothing)", nil
	}
	return out.String(), explain(err)
}

func (s *session) printYAML(ctx context.Context, name string) error {
	to, err := s.find(ctx, name)
	if err != nil {
		return err
	}
	flags := newPrintFlags("")
	flags.format = "yaml"
	if to.task != nil {
		return s.print(flags, to.task)
	}
	return s.print(flags, to.chat)
}

func (a topActions) Call(ctx context.Context, namespace string, ask view.Ask) (string, error) {
	s, out := a.in(namespace)
	now, err := follow.ReadSnapshot(ctx, s.api, follow.Scope{Namespace: namespace, Chat: ask.Chat})
	if err != nil {
		return "", explain(err)
	}
	o := decideOptions{timeout: actionTimeout, changes: changesReader{s: s, now: now}}
	err = o.printCall(ctx, s, ask)
	return out.String(), explain(err)
}

func (a topActions) Decide(ctx context.Context, namespace string, ask view.Ask, approval v1beta1.Approval) error {
	s, _ := a.in(namespace)
	return newChatActions(s, ask.Chat).Decide(ctx, ask, approval)
}

func (a topActions) Edit(ctx context.Context, namespace string, ask view.Ask) terminal.Editor {
	s, _ := a.in(namespace)
	return newArgumentsEditor(ctx, s, ask)
}

func (a topActions) Answer(ctx context.Context, namespace string, ask view.Ask, text string) error {
	s, _ := a.in(namespace)
	spec := v1beta1.AgentMessageSpec{Chat: ask.Chat, Content: text, InReplyTo: ask.Message}
	if ask.Chat == "" {
		spec.Task = ask.Task
	}
	return newChatActions(s, ask.Chat).postAndWait(ctx, spec)
}

func (a topActions) Cancel(ctx context.Context, what topui.Target) error {
	s, _ := a.in(what.Namespace)
	to, err := s.find(ctx, nameOf(what))
	if err != nil {
		return explain(err)
	}
	return newChatActions(s, what.Chat).postAndWait(ctx, cancelMessage(to))
}

// everyNamespace is the row of the picker for all namespaces.
const everyNamespace = "(all namespaces)"

// pickNamespace lets the person choose a namespace. It returns "" for all, and false if they kept the one before.
func (s *session) pickNamespace(ctx context.Context) (string, bool, error) {
	var list corev1.NamespaceList
	if err := s.api.List(ctx, &list); err != nil {
		return "", false, fmt.Errorf("list the namespaces: %w", err)
	}
	options := []picker.Option{{Name: everyNamespace, Line: everyNamespace}}
	for _, n := range list.Items {
		options = append(options, picker.Option{Name: n.Name, Line: n.Name})
	}
	chosen, err := s.pick(ctx, "Namespaces", options)
	if chosen == everyNamespace {
		return "", true, err
	}
	return chosen, chosen != "", err
}

// pick shows a picker, and returns the chosen name or "".
func (s *session) pick(ctx context.Context, title string, options []picker.Option) (string, error) {
	program := tea.NewProgram(picker.New(title, options), tea.WithContext(ctx), tea.WithInput(s.In), tea.WithOutput(s.Out),
		tea.WithEnvironment(s.environ), tea.WithoutSignalHandler())
	end, err := program.Run()
	if err != nil {
		return "", fmt.Errorf("choose: %w", err)
	}
	model, _ := end.(picker.Model)
	return model.Chosen(), nil
}
