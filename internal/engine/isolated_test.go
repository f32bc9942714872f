// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/nestor-dev/nestor/internal/agent"
)

// isolatedScript is the script of a chat whose agent tries to pass on text in each way.
const isolatedScript = `
name: isolated
rules:
- match: {role: orchestrator, lastMessage: Begin}
  reply: {toolCalls: [{name: delegate_to_agent, arguments: {role: general, task: Judge it.}}]}
- {match: {role: orchestrator, lastMessage: Results of task}, reply: {text: It is judged.}}
- {match: {role: orchestrator}, reply: {text: It works.}}
- {match: {turn: 1}, reply: {text: CANARY}}
- {match: {turn: 2}, reply: {toolCalls: [{name: submit_result, arguments: {result: CANARY, data: {verdict: CANARY}}}]}}
- {match: {turn: 3}, reply: {toolCalls: [{name: ask_user, arguments: {question: CANARY}}, {name: write, arguments: {path: CANARY}}]}}
- {match: {turn: 4}, reply: {text: CANARY, toolCalls: [LAST]}}
`

func TestIsolatedAgentPassesOnNoText(t *testing.T) {
	for last, want := range map[string]string{
		"{name: submit_error, arguments: {error: CANARY}}":          "The isolated agent ended without a result.",
		"{name: submit_result, arguments: {data: {verdict: spam}}}": `{\"verdict\":\"spam\"}`,
	} {
		w := newWorld(t, strings.Replace(isolatedScript, "LAST", last, 1))
		w.configure = func(c *agent.Config) {
			if c.Kind == agent.SubAgent {
				c.Isolated, c.Role.Allow = true, []string{"*"}
				c.OutputSchema = json.RawMessage(`{"type":"object","additionalProperties":false,"required":["verdict"],"properties":{"verdict":{"enum":["spam","ham"]}}}`)
			}
		}
		w.chat(nil)
		w.sendMessage("m1", "Begin")
		w.untilPosted("It is judged.")
		s, err := w.current().View(t.Context(), "uid-chat")
		if err != nil {
			t.Fatal(err)
		}
		state, err := agent.EncodeState(s)
		if err != nil || strings.Contains(string(state), "CANARY") || !strings.Contains(string(state), want) {
			t.Errorf("the chat has read %s (%v), want %s", state, err, want)
		}
		if runs, _ := w.tools.count("write"); runs != 0 {
			t.Error("an isolated agent has used a tool")
		}
	}
}
