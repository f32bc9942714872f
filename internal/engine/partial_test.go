// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/nestor-dev/nestor/internal/agent"
)

// What had arrived of a reply that a person stops is posted once and is part of the history, even after a crash. A
// sub-agent's is part of its event.
func TestStoppedReplyIsKept(t *testing.T) {
	w := newWorld(t, `
name: stops
rules:
- {match: {role: orchestrator, lastMessage: Tell a story}, reply: {text: Once upon a time there was a lighthouse., chunkSize: 6, fault: {kind: hang, after: 2}}}
- {match: {role: orchestrator}, reply: {text: Understood.}}
- {match: {role: coder}, reply: {text: I begin to work., chunkSize: 6, fault: {kind: hang, after: 2}}}
`)
	w.chat(nil)
	w.sendMessage("m1", "Tell a story")
	w.untilArrived("uid-chat")
	w.deliver("uid-chat", agent.Cancelled{Message: "x1", User: "alice"})
	w.untilPosted("Once ")
	w.restart()
	w.sendMessage("m2", "Go on")
	w.untilPosted("Understood.")
	begun := func(text string) bool {
		return strings.Contains(text, "Once ") && !strings.Contains(text, "lighthouse")
	}
	if n := len(slices.DeleteFunc(slices.Clone(w.posts), func(post string) bool { return !begun(post) })); n != 1 {
		t.Errorf("%d posts have the stopped reply: %q", n, w.posts)
	}
	var speakers []agent.Speaker
	for m := range w.view("uid-chat").History.Backward() {
		if begun(m.Text) {
			speakers = append(speakers, m.Speaker)
		}
	}
	if !slices.Equal(speakers, []agent.Speaker{agent.Assistant}) {
		t.Errorf("the history has the stopped reply of %v", speakers)
	}
	w.task("task", nil)
	w.untilArrived("uid-task")
	w.deliver("uid-task", agent.Cancelled{User: "alice"})
	w.untilEnded("task")
	if !w.cancelledWith("uid-task", "I begi") {
		t.Error("the event of the cancelled sub-agent does not have its reply")
	}
	for uid, calls := range map[string]int64{"uid-chat": 2, "uid-task": 1} { // providers charge for a stopped reply
		s := w.view(uid)
		if s.Usage.ModelCalls != calls || s.Usage.PromptTokens == 0 || s.Budget.Used.Tokens != s.Usage.Total() {
			t.Errorf("%s has used %+v, and the budget has %+v", uid, s.Usage, s.Budget.Used)
		}
	}
}

// A reply that is longer than what is kept has no hole: pieces after the limit are left out, however short they are.
func TestLongReplyKeepsBeginning(t *testing.T) {
	a, e := &actor{}, agent.CallModel{Call: "m1"}
	begun := strings.Repeat("a", maxPartial-2)
	a.beginPartial(e, nil)
	for _, piece := range []string{begun, "bcd", "e"} {
		a.addPartial(e, piece, 1)
	}
	if got := a.partialText(&agent.ModelCall{ID: "m1"}); got != begun+"bc" {
		t.Errorf("kept %d bytes that end with %q, want the first %d", len(got), got[len(got)-4:], maxPartial)
	}
}

// untilArrived waits until a part of the reply in flight has arrived.
func (w *world) untilArrived(uid string) {
	w.t.Helper()
	w.until("a part of the reply to "+uid, func() bool {
		a := w.engine.actors.find(uid)
		if a == nil {
			return false
		}
		a.mu.Lock()
		defer a.mu.Unlock()
		return a.partial.text.Len() > 0
	})
}

// cancelledWith reports whether an agent has a Cancelled event with text in its reply.
func (w *world) cancelledWith(uid, text string) bool {
	w.t.Helper()
	events, err := w.ledger.Events(w.t.Context(), uid, 0, 1000)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, e := range events {
		var decoded agent.Event
		if err := json.Unmarshal(e.Data, &decoded); err != nil {
			w.t.Fatal(err)
		}
		if f, ok := decoded.Fact.(agent.Cancelled); ok && strings.Contains(f.Reply, text) {
			return true
		}
	}
	return false
}
