// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/tool"
)

// untilAsked waits until an agent asks a question with this text and returns the id of the ask.
func (w *world) untilAsked(uid, text string) string {
	w.t.Helper()
	id := ""
	w.until(fmt.Sprintf("%s to ask %q", uid, text), func() bool {
		s, err := w.engine.View(context.Background(), uid)
		if err != nil {
			return false
		}
		for _, ask := range agent.PendingAsks(s) {
			if ask.Text == text {
				id = ask.Call
			}
		}
		return id != ""
	})
	return id
}

// askingTool ends its call with two questions, one after the other, and takes effect in the last round.
func askingTool(effects *atomic.Int32) func(context.Context, tool.Invocation) (tool.Output, error) {
	return func(_ context.Context, call tool.Invocation) (tool.Output, error) {
		switch {
		case call.Input == nil:
			return tool.Output{Input: &tool.InputRequest{Question: "Which file?", State: json.RawMessage(`{"n":1}`)}}, nil
		case string(call.Input.State) == `{"n":1}`:
			return tool.Output{Input: &tool.InputRequest{Question: "Really " + call.Input.Answer + "?", State: json.RawMessage(`{"n":2}`)}}, nil
		}
		effects.Add(1)
		return tool.Output{Text: "done with " + call.Input.Answer}, nil
	}
}

// A write tool that asks twice takes effect once, although the engine is killed between each question and its answer.
func TestToolQuestionSurvivesKills(t *testing.T) {
	w := newWorld(t, writerScript)
	var effects atomic.Int32
	w.tools.output = askingTool(&effects)
	w.task("task", nil)
	first := w.untilAsked("uid-task", "Which file?")
	w.restart()
	if again := w.untilAsked("uid-task", "Which file?"); again != first {
		t.Errorf("the question was %s and is %s after a restart", first, again)
	}
	w.deliver("uid-task", agent.Answered{Call: first, Text: "a.go"})
	w.deliver("uid-task", agent.Answered{Call: first, Text: "b.go"}) // a repeated delivery
	second := w.untilAsked("uid-task", "Really a.go?")
	w.restart()
	w.deliver("uid-task", agent.Answered{Call: second, Text: "yes"})
	if got := w.untilEnded("task").Outcome.Result.Text; got != "Written." {
		t.Errorf("the agent's result is %q", got)
	}
	if n := effects.Load(); n != 1 {
		t.Errorf("the tool took effect %d times", n)
	}
	if _, doubled := w.tools.count("write"); len(doubled) > 0 {
		t.Errorf("these rounds ran twice: %v", doubled)
	}
	checkReplay(t, w, "uid-task")
}

// A tool below a chat asks the person: the question is posted, and the answer reaches the tool.
func TestToolQuestionIsPosted(t *testing.T) {
	w := newWorld(t, `
name: chat
rules:
- match: {role: coder, turn: 1}
  reply: {toolCalls: [{name: write, arguments: {path: a.go}}]}
- match: {role: coder, lastMessage: /done with blue/}
  reply: {toolCalls: [{name: submit_result, arguments: {result: Written.}}]}
- match: {role: orchestrator, from: user, lastMessage: /^Begin$/}
  reply: {toolCalls: [{name: delegate_to_agent, arguments: {role: coder, task: Write it.}}]}
- match: {role: orchestrator, lastMessage: /blue/}
  reply: {toolCalls: [{name: reply_to_agent, arguments: {sub_agent: chat-1, answer: blue, confidence: 90}}]}
- match: {role: orchestrator, lastMessage: /Written/}
  reply: {text: All is written.}
- match: {role: orchestrator}
  reply: {text: Fine.}
`)
	w.configure = func(c *agent.Config) { c.Role.Approval, c.AutoAnswer.Enabled = agent.ApproveNever, true }
	w.tools.output = func(_ context.Context, call tool.Invocation) (tool.Output, error) {
		if call.Input == nil {
			return tool.Output{Input: &tool.InputRequest{Question: "Which color?"}}, nil
		}
		return tool.Output{Text: "done with " + call.Input.Answer}, nil
	}
	w.chat(nil)
	w.sendMessage("m1", "Begin")
	w.untilPosted("needs input: Which color?")
	w.restart()
	w.sendMessage("m2", "blue")
	w.untilPosted("All is written.")
}

func askDuring(started chan<- struct{}) func(context.Context, tool.Invocation) (tool.Output, error) {
	return func(ctx context.Context, call tool.Invocation) (tool.Output, error) {
		started <- struct{}{}
		first, err := call.Ask(ctx, "Which file?")
		if err != nil {
			return tool.Output{}, err
		}
		second, err := call.Ask(ctx, "Which line?")
		if err != nil {
			return tool.Output{}, err
		}
		return tool.Output{Text: "done with " + first + ":" + second}, nil
	}
}

func TestToolAsksDuringItsCall(t *testing.T) {
	w := newWorld(t, writerScript)
	started := make(chan struct{}, 10)
	w.tools.output = askDuring(started)
	w.task("task", nil)
	w.deliver("uid-task", agent.Answered{Call: w.untilAsked("uid-task", "Which file?"), Text: "a.go"})
	w.deliver("uid-task", agent.Answered{Call: w.untilAsked("uid-task", "Which line?"), Text: "7"})
	s := w.untilEnded("task")
	if !strings.Contains(toolText(s), "done with a.go:7") {
		t.Errorf("the tool's answer is %q", toolText(s))
	}
	if len(started) != 1 {
		t.Errorf("the tool ran %d times", len(started))
	}
	checkReplay(t, w, "uid-task")
}

// toolText returns the text of the first tool result.
func toolText(s agent.State) string {
	text := ""
	for m := range s.History.Backward() {
		if m.Speaker == agent.ToolSpeaker && m.Text != "Submitted." {
			text = m.Text
		}
	}
	return text
}

// A read-only tool that waited for an answer runs again after a crash; what was answered is not asked again.
func TestRepeatableToolReusesAnswers(t *testing.T) {
	w := newWorld(t, strings.NewReplacer("name: write,", "name: read,").Replace(writerScript))
	started := make(chan struct{}, 10)
	w.tools.output = askDuring(started)
	w.task("task", nil)
	w.deliver("uid-task", agent.Answered{Call: w.untilAsked("uid-task", "Which file?"), Text: "a.go"})
	second := w.untilAsked("uid-task", "Which line?")
	w.restart()
	if again := w.untilAsked("uid-task", "Which line?"); again != second {
		t.Errorf("the question was %s and is %s after a restart", second, again)
	}
	w.deliver("uid-task", agent.Answered{Call: second, Text: "7"})
	s := w.untilEnded("task")
	if !strings.Contains(toolText(s), "done with a.go:7") {
		t.Errorf("the tool's answer is %q", toolText(s))
	}
	if len(started) != 2 {
		t.Errorf("the tool ran %d times", len(started))
	}
}

// A write tool that waits for an answer is not run again, whether the engine is killed or shuts down, and does not delay a shutdown.
func TestAskingWriteToolAfterRestart(t *testing.T) {
	for name, end := range map[string]func(*world){"crash": (*world).crash, "shutdown": (*world).stop} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, writerScript)
			started := make(chan struct{}, 10)
			w.tools.output = askDuring(started)
			w.task("task", nil)
			w.untilAsked("uid-task", "Which file?")
			end(w)
			if _, err := w.start(w.ledger).Recover(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := w.untilEnded("task").Outcome.Result.Text; got != "The outcome is unknown." {
				t.Errorf("the agent's result is %q", got)
			}
			if len(started) != 1 {
				t.Errorf("the tool ran %d times", len(started))
			}
		})
	}
}

// Cancelling an agent ends the call that waits for an answer.
func TestCancelEndsCallThatAsks(t *testing.T) {
	w := newWorld(t, writerScript)
	ended := make(chan error, 1)
	w.tools.output = func(ctx context.Context, call tool.Invocation) (tool.Output, error) {
		_, err := call.Ask(ctx, "Which file?")
		ended <- err
		return tool.Output{}, err
	}
	w.task("task", nil)
	id := w.untilAsked("uid-task", "Which file?")
	w.deliver("uid-task", agent.Cancelled{User: "alice"})
	if err := <-ended; err == nil {
		t.Error("the tool got an answer")
	}
	w.deliver("uid-task", agent.Answered{Call: id, Text: "late"})
	s := w.untilEnded("task")
	if s.Outcome.Kind != agent.ErrorCancelled {
		t.Errorf("the agent ended with %q", s.Outcome.Kind)
	}
	w.until("the call to be closed", func() bool {
		open, err := w.ledger.OpenCalls(context.Background(), "uid-task")
		return err == nil && len(open.Tools) == 0
	})
}
