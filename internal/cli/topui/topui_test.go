// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package topui

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/cli/terminal"
	"github.com/nestor-dev/nestor/internal/view"
)

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func meta(namespace, name string, age time.Duration) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name, CreationTimestamp: metav1.NewTime(start.Add(-age)), Labels: map[string]string{}}
}

// snapshot has a chat with a running agent and its child, a task that asks, and a chat of the same name in another namespace.
func snapshot(tokens int64) view.Snapshot {
	cost := int64(250_000)
	busy := v1beta1.AgentChat{ObjectMeta: meta("a", "busy", time.Hour)}
	busy.Status.Phase, busy.Status.Usage = v1beta1.ChatRunning, v1beta1.Usage{TotalTokens: 100, CostMicros: &cost, Currency: "USD"}
	other := v1beta1.AgentChat{ObjectMeta: meta("b", "busy", time.Minute)}
	other.Status.Phase = v1beta1.ChatIdle
	inEuros := int64(100_000)
	other.Status.Usage = v1beta1.Usage{CostMicros: &inEuros, Currency: "EUR"}
	coder := v1beta1.AgentTask{ObjectMeta: meta("a", "busy-1", time.Minute)}
	coder.Spec.Chat, coder.Spec.Role, coder.Spec.Instruction, coder.Status.Phase = "busy", "coder", "Write it.", v1beta1.TaskRunning
	tester := v1beta1.AgentTask{ObjectMeta: meta("a", "busy-1-1", time.Second)}
	tester.Spec.Chat, tester.Spec.Role, tester.Status.Phase = "busy", "tester", v1beta1.TaskRunning
	tester.Labels[v1beta1.LabelParent] = "busy-1"
	agent := v1beta1.SubAgent{ObjectMeta: meta("a", "busy-1", time.Minute)}
	agent.Status.Phase, agent.Status.Usage, agent.Status.Iterations = v1beta1.SubAgentActive, v1beta1.Usage{TotalTokens: tokens}, 3
	agent.Status.Messages = []v1beta1.TranscriptMessage{
		{Role: v1beta1.TranscriptUser, Content: "Write it."}, {Role: v1beta1.TranscriptTool, Content: "\n     1\tone\n     2\ttwo\n"}, {Role: v1beta1.TranscriptAssistant, Content: "I write \x1b[31mit\nnow."},
	}
	agent.Status.ToolCalls = []v1beta1.ToolCallStatus{{ID: "c", Tool: "bash", Arguments: &runtime.RawExtension{Raw: []byte(`{"command":"a \u0026\u0026 b"}`)}, Phase: v1beta1.ToolCallRunning}}
	alone := v1beta1.AgentTask{ObjectMeta: meta("a", "alone", 2*time.Hour)}
	alone.Spec.Role, alone.Status.Phase = "researcher", v1beta1.TaskWaiting
	alone.Status.Waiting = &v1beta1.Waiting{Kind: v1beta1.WaitingQuestion, Text: "Which year is it?"}
	return view.Snapshot{Chats: []v1beta1.AgentChat{busy, other}, Tasks: []v1beta1.AgentTask{coder, tester, alone}, Agents: []v1beta1.SubAgent{agent}}
}

// fakeActions records what the screen does.
type fakeActions struct{ done []string }

func (f *fakeActions) Read(_ context.Context, of Target, text Text) (string, error) {
	if text == TextTranscript {
		return "assistant\n  → bash {\"command\":\"make\"}\ntool bash", nil
	}
	return fmt.Sprint(text, " of ", of.Namespace, "/", of.Chat, "/", of.Task), nil
}

func (f *fakeActions) Call(_ context.Context, namespace string, ask view.Ask) (string, error) {
	return namespace + ": " + ask.Tool + " " + ask.Arguments + "\n" + strings.Repeat("+ line\n", 30), nil
}

func (f *fakeActions) Decide(_ context.Context, _ string, ask view.Ask, a v1beta1.Approval) error {
	f.done = append(f.done, strings.TrimSpace(fmt.Sprint(a.Decision, " ", ask.Task, " ", a.Arguments)))
	return nil
}

func (*fakeActions) Edit(context.Context, string, view.Ask) terminal.Editor { return nil }

func (f *fakeActions) Answer(_ context.Context, _ string, ask view.Ask, text string) error {
	f.done = append(f.done, "answer "+ask.Task+": "+text)
	return nil
}

func (f *fakeActions) Cancel(_ context.Context, what Target) error {
	f.done = append(f.done, "cancel "+what.name())
	return nil
}

func press(m Model, keys ...string) Model {
	for _, k := range keys {
		msg := tea.KeyPressMsg{Text: k, Code: []rune(k)[0]}
		switch k {
		case "enter":
			msg = tea.KeyPressMsg{Code: tea.KeyEnter}
		case "esc":
			msg = tea.KeyPressMsg{Code: tea.KeyEscape}
		case "down":
			msg = tea.KeyPressMsg{Code: tea.KeyDown}
		}
		next, _ := m.Update(msg)
		m = next.(Model)
	}
	return m
}

func update(m Model, msgs ...tea.Msg) Model {
	for _, msg := range msgs {
		next, _ := m.Update(msg)
		m = next.(Model)
	}
	return m
}

func screen(m Model) string { return ansi.Strip(fmt.Sprint(m.View().Content)) }

func TestRunsAgentsAndDetail(t *testing.T) {
	m := update(New(context.Background(), &fakeActions{}, "all namespaces", true, start), tea.WindowSizeMsg{Width: 140, Height: 20}, Updated(snapshot(1000)), ticked(start.Add(10*time.Second)), Updated(snapshot(3000)))
	shown := screen(m)
	for _, want := range []string{
		"nestor top  all namespaces  3 active · 1 waiting · 200 tok/s · 3k tokens · cost 0.10 EUR + $0.25", "NAMESPACE   NAME", "asks: Which year is it?", "enter its agents",
	} {
		if !strings.Contains(shown, want) {
			t.Errorf("%q is missing:\n%s", want, shown)
		}
	}
	lines := strings.Split(shown, "\n")
	if !strings.Contains(lines[2], "▸   a ") || !strings.Contains(lines[2], "alone") || !strings.Contains(lines[3], "a           busy") || !strings.Contains(lines[4], "b           busy") {
		t.Errorf("what waits should be first, then what runs:\n%s", shown)
	}
	if m = press(m, "c"); m.Open().Name != "" {
		t.Error("a standalone task has no chat to open")
	}

	m = press(m, "down", "enter")
	if shown = screen(m); !strings.Contains(shown, "a › busy") || !strings.Contains(shown, "└─ busy-1 ") || !strings.Contains(shown, "   └─ busy-1-1") {
		t.Errorf("the agents of the run:\n%s", shown)
	}
	m = press(m, "enter")
	if shown = screen(m); !strings.Contains(shown, "a › busy › busy-1") || !strings.Contains(shown, "Write it.") || !strings.Contains(shown, "I write ␛[31mit") ||
		!strings.Contains(shown, `● bash {"command":"a && b"}`) || !strings.Contains(shown, "kubectl nestor transcript busy-1 -n a -f") {
		t.Errorf("what the agent does:\n%s", shown)
	}
	if strings.Count(shown, "Write it.") != 1 || !strings.Contains(shown, "       1    one\n       2    two") {
		t.Errorf("the instruction once, and the lines of an output aligned:\n%s", shown)
	}
	m = press(m, "esc", "esc")
	if shown = screen(m); !strings.Contains(shown, "enter its agents") {
		t.Errorf("back at the runs:\n%s", shown)
	}
	if m = press(m, "c"); m.Open() != (Chat{"a", "busy"}) || m.Resume().Open().Name != "" {
		t.Errorf("opens %+v", m.Open())
	}
}

func TestScreenFits(t *testing.T) {
	for _, size := range []tea.WindowSizeMsg{{Width: 80, Height: 24}, {Width: 120, Height: 40}, {Width: 40, Height: 6}, {Width: 20, Height: 3}} {
		for _, keys := range [][]string{nil, {"enter"}, {"down", "enter", "enter"}} {
			m := press(update(New(context.Background(), &fakeActions{}, "namespace a", false, start), size, Updated(snapshot(1000))), keys...)
			lines := strings.Split(screen(m), "\n")
			if len(lines) != size.Height {
				t.Errorf("%d lines at %dx%d", len(lines), size.Width, size.Height)
			}
			for _, line := range lines {
				if ansi.StringWidth(line) > size.Width {
					t.Errorf("at %dx%d a line is too wide: %q", size.Width, size.Height, line)
				}
			}
		}
	}
}

func TestRates(t *testing.T) {
	r := rates{}
	for second, tokens := range []int64{0, 0, 100, 100, 400} {
		r.add("x", start.Add(time.Duration(second)*time.Second), tokens)
	}
	if got := r.perSecond("x"); got != 100 {
		t.Errorf("%v tokens a second, want 100", got)
	}
	for second := range 60 {
		r.add("x", start.Add(time.Duration(5+second)*time.Second), 400)
	}
	if got := r.perSecond("x"); got != 0 || len(r["x"]) > 20 {
		t.Errorf("%v tokens a second and %d samples after a quiet minute", got, len(r["x"]))
	}
	r.add("x", start.Add(2*time.Minute), 10) // the object was recreated
	if got := r.perSecond("x"); got != 0 {
		t.Errorf("%v tokens a second after a restart", got)
	}
}
