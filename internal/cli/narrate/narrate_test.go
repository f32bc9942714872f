// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package narrate

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	historyv1 "github.com/nestor-dev/nestor/api/history/v1beta1"
	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/cli/terminal"
	"github.com/nestor-dev/nestor/internal/view"
)

func message(role v1beta1.MessageRole, name, replyTo, text string) v1beta1.AgentMessage {
	m := v1beta1.AgentMessage{ObjectMeta: metav1.ObjectMeta{Name: name}}
	m.Spec.Chat, m.Spec.Role, m.Spec.Content, m.Spec.InReplyTo = "chat", role, text, replyTo
	return m
}

func exampleSnapshot() view.Snapshot {
	task := v1beta1.AgentTask{ObjectMeta: metav1.ObjectMeta{Name: "chat-1"}}
	task.Spec.Chat, task.Spec.Role, task.Spec.Instruction, task.Spec.TriggerMessage = "chat", "coder", "Do\nit.", "u1"
	task.Status.Phase, task.Status.Result = v1beta1.TaskSuccess, &v1beta1.TaskResult{Summary: "Done."}
	child := task
	child.Name, child.Labels, child.Spec.Role = "chat-1-1", map[string]string{v1beta1.LabelParent: "chat-1"}, "tester"
	child.Status.Phase, child.Status.Result, child.Status.Error = v1beta1.TaskFailed, nil, &v1beta1.RunError{Kind: v1beta1.ErrorTimedOut, Message: "too slow\x1b[2J"}
	return view.Snapshot{
		Messages: []v1beta1.AgentMessage{
			message(v1beta1.RoleUser, "u1", "", "Please\ndo it."), message(v1beta1.RoleAssistant, "p1", "u1", "Somebody does."), message(v1beta1.RoleAssistant, "p2", "u1", "It is done."),
		},
		Tasks: []v1beta1.AgentTask{task, child},
	}
}

func TestNarratorPrintsOnceInOrder(t *testing.T) {
	n := New("chat")
	got := ansi.Strip(strings.Join(n.Lines(exampleSnapshot()), "\n"))
	want := strings.Join([]string{
		"you: Please", "  do it.", "  ● chat-1 (coder): Do it.", "    ● chat-1-1 (tester): Do it.", "nestor: Somebody does.",
		"    ✗ chat-1-1 (tester): Failed, TimedOut: too slow␛[2J", "  ✓ chat-1 (coder): Success: Done.", "nestor: It is done.",
	}, "\n")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if again := n.Lines(exampleSnapshot()); len(again) > 0 {
		t.Errorf("printed again: %q", again)
	}
}

// entries returns a transcript with a streamed reply.
func entries(pieces ...string) []historyv1.Entry {
	at := metav1.NewMicroTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.Local))
	all := []historyv1.Entry{{Seq: 1, Time: at, Kind: historyv1.EntryUser, Content: "Hello"}}
	for _, piece := range pieces {
		call, text, _ := strings.Cut(piece, ":")
		all = append(all, historyv1.Entry{Seq: 1, Time: at, Kind: historyv1.EntryDelta, ModelCall: call, Delta: &historyv1.Delta{Text: text}})
	}
	return append(all, historyv1.Entry{Seq: 2, Time: at, Kind: historyv1.EntryAssistant, Content: "One\ntwo.", ToolCalls: []historyv1.ToolCall{
		{ID: "c", Tool: "bash", Arguments: `{"command":"ls"}`, Phase: historyv1.ToolCallWaitingForApproval},
	}})
}

func TestStreamedRepliesAreNotRepeated(t *testing.T) {
	const head, tail = "user  #1 03:04:05\n  Hello\n\nassistant  #2 03:04:05\n", "  → bash {\"command\":\"ls\"}  WaitingForApproval\n"
	for name, c := range map[string]struct {
		pieces []string
		want   string
	}{
		"at once":              {nil, "  One\n  two.\n"},
		"in pieces":            {[]string{"m1:On", "m1:e\ntw", "m1:o."}, "  One\n  two.\n"},
		"the call was retried": {[]string{"m1:Uno", "m2:One"}, "  Uno\n  (complete reply)\n  One\n  two.\n"},
		"pieces are missing":   {[]string{"m1:One"}, "  One\n  (complete reply)\n  One\n  two.\n"},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			teller := NewTranscriptPrinter(terminal.Writer(&out, nil))
			for _, e := range entries(c.pieces...) {
				teller.Print(e)
			}
			if diff := cmp.Diff(head+c.want+tail, out.String()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestReasoningIsAMarkedBlock(t *testing.T) {
	long := "One.\nTwo\x1b[2J.\nThree.\nFour.\nFive."
	delta := func(reasoning, text string) historyv1.Entry {
		return historyv1.Entry{Seq: 1, Kind: historyv1.EntryDelta, ModelCall: "m1", Delta: &historyv1.Delta{Reasoning: reasoning, Text: text}}
	}
	for name, c := range map[string]struct {
		deltas    []historyv1.Entry
		reasoning string
		whole     bool
		want      string
	}{
		"none":               {nil, "", false, "assistant  #2\n  Done.\n"},
		"short":              {nil, "Easy.", false, "assistant  #2\n  │ reasoning: Easy.\n  Done.\n"},
		"long":               {nil, long, false, "assistant  #2\n  │ reasoning: One.\n  │ Two␛[2J.\n  │ Three.\n  │ … 2 more lines: --reasoning prints all\n  Done.\n"},
		"in full":            {nil, long, true, "assistant  #2\n  │ reasoning: One.\n  │ Two␛[2J.\n  │ Three.\n  │ Four.\n  │ Five.\n  Done.\n"},
		"streamed":           {[]historyv1.Entry{delta("Ea", ""), delta("sy.", ""), delta("", "Done.")}, "Easy.", false, "assistant  #2\n  (reasoning)\n  Done.\n  │ reasoning: Easy.\n"},
		"streamed, no text":  {[]historyv1.Entry{delta("Easy.", "")}, "Easy.", false, "assistant  #2\n  (reasoning)\n  │ reasoning: Easy.\n  Done.\n"},
		"a line without end": {nil, strings.Repeat("x", 500), false, "assistant  #2\n  │ reasoning: " + strings.Repeat("x", maxReasoningLine-len("reasoning: ")-1) + "…\n  Done.\n"},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			printer := NewTranscriptPrinter(terminal.Writer(&out, nil))
			printer.Reasoning = c.whole
			for _, e := range append(c.deltas, historyv1.Entry{Seq: 2, Kind: historyv1.EntryAssistant, Content: "Done.", Reasoning: c.reasoning}) {
				printer.Print(e)
			}
			if diff := cmp.Diff(c.want, out.String()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestImagesAreDescribed(t *testing.T) {
	var out bytes.Buffer
	NewTranscriptPrinter(terminal.Writer(&out, nil)).Print(historyv1.Entry{Seq: 1, Kind: historyv1.EntryUser, Content: "See.", Images: []historyv1.Image{
		{Name: "a\x1b[2J.png", MediaType: "image/png", Size: 2048}, {MediaType: "image/gif", Size: 9},
	}})
	if diff := cmp.Diff("user  #1\n  See.\n  [image a␛[2J.png, image/png, 2 KB]\n  [image image/gif, 9 bytes]\n", out.String()); diff != "" {
		t.Error(diff)
	}
}

func TestWaitStateIsPrintedOnce(t *testing.T) {
	chat := v1beta1.AgentChat{ObjectMeta: metav1.ObjectMeta{Name: "chat"}}
	at := func(kind string, status metav1.ConditionStatus, reason, message string) view.Snapshot {
		c := chat
		c.Status.Conditions = []metav1.Condition{{Type: kind, Status: status, Reason: reason, Message: message}}
		return view.Snapshot{Chats: []v1beta1.AgentChat{c}}
	}
	n := New("chat")
	var printed []string
	for _, s := range []view.Snapshot{
		at("Ready", "True", "Ready", ""),
		at("Reconciling", "True", "RateLimited", "Attempt 1 failed."),
		at("Reconciling", "True", "RateLimited", "Attempt 2 failed."),
		at("Ready", "True", "Ready", ""),
		at("Ready", "True", "PausedTurnLimit", "25 turns."),
		at("Ready", "True", "PausedTurnLimit", "25 turns."),
	} {
		printed = append(printed, n.Lines(s)...)
	}
	want := []string{"  the chat waits (RateLimited): Attempt 1 failed.", "  the chat is paused (PausedTurnLimit): 25 turns. Send a message to continue."}
	for i := range printed {
		printed[i] = ansi.Strip(printed[i])
	}
	if diff := cmp.Diff(want, printed); diff != "" {
		t.Error(diff)
	}
}

func TestOutcomeShowsItsData(t *testing.T) {
	got := ansi.Strip(strings.Join(outcomeLines(historyv1.Outcome{Summary: "Judged.", Data: &runtime.RawExtension{Raw: []byte(`{"verdict":"reject\u001b[2J"}`)}}), "\n"))
	if want := "✓ done: Judged.\n  data: {\"verdict\":\"reject\\u001b[2J\"}"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
