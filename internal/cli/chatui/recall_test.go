// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package chatui

import (
	"slices"
	"testing"

	tea "charm.land/bubbletea/v2"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/view"
)

func (s *harness) input() string { return s.model.(Model).input.Value() }

func (s *harness) enter(text string) {
	s.t.Helper()
	m := s.model.(Model)
	m.input.SetValue(text)
	s.model = m
	s.send(tea.KeyPressMsg{Code: tea.KeyEnter})
}

func TestUpRecallsLines(t *testing.T) {
	s := newHarness(t)
	earlier := v1beta1.AgentMessage{}
	earlier.Spec.Chat, earlier.Spec.Role, earlier.Spec.Content = "chat", v1beta1.RoleUser, "Hello"
	answer := v1beta1.AgentMessage{}
	answer.Spec.Chat, answer.Spec.Role, answer.Spec.Content = "chat", v1beta1.RoleAssistant, "Good morning."
	s.send(Updated(view.Snapshot{Messages: []v1beta1.AgentMessage{earlier, answer}}))
	s.enter("/model large")
	up, down := tea.KeyPressMsg{Code: tea.KeyUp}, tea.KeyPressMsg{Code: tea.KeyDown}
	var shown []string
	for _, k := range []tea.KeyPressMsg{up, up, up, down, down} {
		s.send(k)
		shown = append(shown, s.input())
	}
	if want := []string{"/model large", "Hello", "Hello", "/model large", ""}; !slices.Equal(shown, want) {
		t.Errorf("%q, want %q", shown, want)
	}
}

func TestCommandsOfTheChat(t *testing.T) {
	s := newHarness(t)
	s.enter("/role")
	s.enter("/role reviewer")
	s.enter("/model large")
	s.enter("/diff")
	if !s.model.(Model).changes.open() {
		t.Error("/diff shows nothing")
	}
	s.send(Updated(view.Snapshot{}))
	if !s.model.(Model).changes.open() {
		t.Error("the diff of the workspace was closed as that of a call")
	}
	s.send(tea.KeyPressMsg{Code: tea.KeyEscape})
	s.enter("/new")
	if want := []string{"set role reviewer", "set model large", "new "}; !slices.Equal(s.actions.did, want) {
		t.Errorf("%q, want %q", s.actions.did, want)
	}
	if next := s.model.(Model).Next(); next != "chat-2" {
		t.Errorf("continues in %q", next)
	}
}
