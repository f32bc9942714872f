// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/nestor-dev/nestor/internal/agent"
)

const carelessScript = `
name: careless
rules:
- match: {role: coder, turn: 1}
  reply:
    toolCalls:
    - {name: write, arguments: {path: 7}}
    - {name: Search, arguments: {}}
    - {name: Read, arguments: {path: a}}
    - {name: odd, arguments: {anything: goes}}
- match: {role: coder, turn: 2}
  reply: {toolCalls: [{name: write, arguments: '{"path": "a'}], finishReason: length}
- match: {role: coder}
  reply: {toolCalls: [{name: submit_result, arguments: {result: Done.}}]}
`

// All tools need an approval that is never given: invalid calls must be answered without one.
func TestArgumentsCheckedBeforeApproval(t *testing.T) {
	w := newWorld(t, carelessScript)
	w.task("task", func(c *agent.Config) {
		c.Role.Approval, c.Role.Allow = agent.ApproveAlways, []string{"*"}
		c.Tools = []agent.Tool{
			{Name: "write", Parameters: json.RawMessage(`{"type":"object","required":["path"],"properties":{"path":{"type":"string"}}}`)},
			{Name: "read", Parameters: json.RawMessage(`{"type":"object"}`)},
			{Name: "odd", Parameters: json.RawMessage(`{"type":"object","properties":{},"$ref":"https://example.com/schema.json"}`)},
		}
		c.Delegates = []agent.Delegate{{Name: "code-search", AsTool: &agent.AsTool{Name: "Search",
			InputSchema: json.RawMessage(`{"type":"object","required":["query"],"properties":{"query":{"type":"string"}}}`)}}}
	})
	w.until("the valid call to wait for a decision", func() bool {
		s, err := w.engine.View(t.Context(), "uid-task")
		return err == nil && s.Stage() == agent.StageWaitingForApproval
	})
	s, err := w.current().View(t.Context(), "uid-task")
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"/path: got number, want string", "missing property 'query'", `There is no tool "Read" for you. Did you mean read?`, ""} {
		if call := s.Batch[i]; !strings.Contains(call.Answer, want) || (want == "") != (call.State == agent.CallUndecided) {
			t.Errorf("%s is %s: %q, want %q", call.Tool, call.State, call.Answer, want)
		}
	}
	if s.Children.Started != 0 {
		t.Errorf("%d children were started", s.Children.Started)
	}
	w.deliver("uid-task", agent.Decided{Call: s.Batch[3].ID, Approve: false})
	s = w.untilEnded("task")
	if s.Outcome.Kind != "" {
		t.Fatalf("it ended with %s", s.Outcome)
	}
	texts := ""
	for _, m := range s.History.Messages() {
		texts += m.Text + "\n"
	}
	if !strings.Contains(texts, "write was not called: the arguments were cut off at the output limit") {
		t.Errorf("the model did not get the cut-off error:\n%s", texts)
	}
	checkReplay(t, w, "uid-task")
}

const structuredScript = `
name: structured
rules:
- match: {role: coder, turn: 1}
  reply: {toolCalls: [{name: submit_result, arguments: {result: Done., data: {verdict: perhaps}}}]}
- match: {role: coder}
  reply: {toolCalls: [{name: submit_result, arguments: {result: Done., data: {verdict: approve}}}]}
`

// The data of a result is checked before the reply becomes an event, so that invalid data never ends an agent.
func TestResultDataIsChecked(t *testing.T) {
	w := newWorld(t, structuredScript)
	w.task("task", func(c *agent.Config) {
		c.OutputSchema = json.RawMessage(`{"type":"object","required":["verdict"],"properties":{"verdict":{"enum":["approve","reject"]}}}`)
	})
	s := w.untilEnded("task")
	if s.Outcome.Kind != "" || string(s.Outcome.Result.Data) != `{"verdict":"approve"}` {
		t.Fatalf("it ended with %s", s.Outcome)
	}
	answer := s.History.Messages()[2].Text
	if !strings.Contains(answer, "/data/verdict: value must be one of 'approve', 'reject'") || s.Iterations != 2 {
		t.Errorf("after %d iterations, the model got: %s", s.Iterations, answer)
	}
	checkReplay(t, w, "uid-task")
}
