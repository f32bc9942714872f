// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package topui

import (
	"errors"
	"slices"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

// typed presses a key and performs what follows from it.
func typed(t *testing.T, m Model, k tea.KeyPressMsg) Model {
	t.Helper()
	next, cmd := m.Update(k)
	m = next.(Model)
	if cmd == nil {
		return m
	}
	return performed(m, cmd)
}

// performed is the model after a command.
func performed(m Model, cmd tea.Cmd) Model {
	switch msg := cmd().(type) {
	case textRead:
		m = update(m, msg, armed(msg.id))
	case acted:
		m = update(m, msg)
	}
	return m
}

func TestEditedCallIsApproved(t *testing.T) {
	m, actions := console(t)
	m = typed(t, press(m, "/", "b", "u", "s", "y", "enter"), key("a"))
	if strings.Contains(m.footer(), "e edit") {
		t.Error("a call that cannot be changed has the key")
	}
	m.pager.ask.Editable = true
	if !strings.Contains(m.footer(), "a approve · e edit · x deny") {
		t.Errorf("the footer is %q", m.footer())
	}
	m = typed(t, m, key("e")) // the test opens no editor
	m = update(m, edited{id: m.pager.id, err: errors.New("not changed")})
	if m.notice != "error: not changed" || len(actions.done) > 0 {
		t.Errorf("%q after %q", actions.done, m.notice)
	}
	for range 3 {
		m = typed(t, m, pageKey)
	}
	next, cmd := m.Update(edited{id: m.pager.id, arguments: `{"path":"b"}`})
	if performed(next.(Model), cmd); !slices.Equal(actions.done, []string{`Approve busy-1-1 {"path":"b"}`}) {
		t.Errorf("done: %q", actions.done)
	}
}

func key(text string) tea.KeyPressMsg { return tea.KeyPressMsg{Text: text, Code: []rune(text)[0]} }

var (
	cancelKey = tea.KeyPressMsg{Code: 'x', Mod: tea.ModCtrl}
	enterKey  = tea.KeyPressMsg{Code: tea.KeyEnter}
	escKey    = tea.KeyPressMsg{Code: tea.KeyEscape}
	pageKey   = tea.KeyPressMsg{Code: tea.KeyPgDown}
)

func console(t *testing.T) (Model, *fakeActions) {
	t.Helper()
	now := snapshot(1000)
	waits := v1beta1.Waiting{Kind: v1beta1.WaitingApproval, Tool: "write", ToolCall: "w", Arguments: &runtime.RawExtension{Raw: []byte(`{"path":"a"}`)}}
	now.Chats[0].Status.Waiting = []v1beta1.ChatWaitingItem{{Task: "busy-1-1", Waiting: waits}}
	actions := &fakeActions{}
	m := New(t.Context(), actions, "all namespaces", true, start)
	return update(m, tea.WindowSizeMsg{Width: 140, Height: 20}, Updated(now)), actions
}

func names(m Model) []string {
	var names []string
	for _, r := range m.rows() {
		names = append(names, r.namespace+"/"+r.name)
	}
	return names
}

func TestFilterAndSort(t *testing.T) {
	m, _ := console(t)
	m = press(m, "/", "r", "e", "s", "e", "enter")
	if got := names(m); !slices.Equal(got, []string{"a/alone"}) || !strings.Contains(screen(m), "all namespaces /rese") {
		t.Errorf("%v\n%s", got, screen(m))
	}
	m = press(m, "esc")
	for _, want := range []string{"a/busy,a/alone,b/busy", "a/busy,b/busy,a/alone", "b/busy,a/busy,a/alone", "a/alone,a/busy,b/busy"} {
		m = press(m, "s")
		if got := strings.Join(names(m), ","); got != want {
			t.Errorf("%s: %s, want %s", m.notice, got, want)
		}
	}
	if m = press(m, "/", "x", "y", "z"); !strings.Contains(screen(m), "nothing contains xyz") {
		t.Error(screen(m))
	}
	if m = press(m, "esc", "n"); !m.SwitchesNamespace() || m.Resume().SwitchesNamespace() {
		t.Error("n does not leave to choose a namespace")
	}
}

func TestTextsOfARun(t *testing.T) {
	m, _ := console(t)
	m = press(m, "/", "b", "u", "s", "y", "enter")
	for k, want := range map[string]string{"d": "diff of a/busy/", "y": "YAML of a/busy/"} {
		if shown := typed(t, m, key(k)); !strings.Contains(screen(shown), want) {
			t.Errorf("%s:\n%s", k, screen(shown))
		}
	}
	m = typed(t, press(m, "enter"), enterKey)
	if shown := screen(m); !strings.Contains(shown, `→ bash {"command":"make"}`) || !strings.Contains(shown, "a › busy › busy-1") {
		t.Errorf("the transcript:\n%s", shown)
	}
	if shown := typed(t, m, key("y")); !strings.Contains(screen(shown), "YAML of a/busy/busy-1") {
		t.Errorf("from the transcript:\n%s", screen(shown))
	}
	if m = typed(t, m, escKey); !strings.Contains(screen(m), "enter what it does") {
		t.Errorf("back at the agents:\n%s", screen(m))
	}
	if m = press(m, "?"); !strings.Contains(screen(m), "list") && !strings.Contains(screen(m), "switch to another namespace") {
		t.Errorf("the keys:\n%s", screen(m))
	}
}

func TestDecideAnswerCancel(t *testing.T) {
	m, actions := console(t)
	m = press(m, "/", "c", "h", "e", "s", "t", "esc", "s", "s", "s", "s") // by name: alone, busy, busy
	m = typed(t, m, key("r"))
	for _, k := range "2026" {
		m = typed(t, m, key(string(k)))
	}
	m = typed(t, m, enterKey)
	m = press(m, "down")
	next, _ := m.Update(key("a"))
	loading := next.(Model)
	if m = typed(t, loading, key("a")); len(actions.done) != 1 {
		t.Fatalf("a call was decided before it was shown: %v", actions.done)
	}
	m = typed(t, press(m, "esc"), key("a"))
	if m = typed(t, m, key("a")); len(actions.done) != 1 || !strings.Contains(screen(m), "read the whole call first") {
		t.Fatalf("a call was approved before all of it was shown: %v\n%s", actions.done, screen(m))
	}
	m = typed(t, typed(t, typed(t, m, pageKey), pageKey), key("a"))
	m = typed(t, m, cancelKey)
	m = typed(t, m, cancelKey)
	typed(t, typed(t, typed(t, m, key("a")), key("x")), key("g"))
	want := []string{"answer alone: 2026", "Approve busy-1-1", "cancel busy", "Deny busy-1-1"}
	if !slices.Equal(actions.done, want) {
		t.Errorf("%q, want %q", actions.done, want)
	}
}

// A slow answer about a call must not be shown for the call of an agent with the same name in another namespace.
func TestCallIsShownForItsOwnDecision(t *testing.T) {
	m, actions := console(t)
	now := snapshot(1000)
	tester := now.Tasks[1]
	tester.Namespace = "b"
	tester.Labels = nil
	now.Tasks = append(now.Tasks, tester)
	for i, arguments := range []string{`{"path":"a"}`, `{"path":"b"}`} {
		waits := v1beta1.Waiting{Kind: v1beta1.WaitingApproval, Tool: "write", ToolCall: "w", Arguments: &runtime.RawExtension{Raw: []byte(arguments)}}
		now.Chats[i].Status.Waiting = []v1beta1.ChatWaitingItem{{Task: "busy-1-1", Waiting: waits}}
	}
	m = press(update(m, Updated(now)), "/", "b", "u", "s", "y", "enter")
	next, slow := m.Update(key("a"))
	m = press(next.(Model), "esc", "down")
	next, read := m.Update(key("a"))
	m = update(next.(Model), slow())
	if strings.Contains(screen(m), "a: write") {
		t.Fatalf("the call of another namespace is shown:\n%s", screen(m))
	}
	m = typed(t, typed(t, update(m, read(), armed(m.pager.id)), pageKey), pageKey)
	if typed(t, m, key("a")); !slices.Equal(actions.done, []string{"Approve busy-1-1"}) {
		t.Errorf("%q:\n%s", actions.done, screen(m))
	}
}
