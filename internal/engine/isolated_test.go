// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/tool"
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

// inputsScript is the script of a chat that delegates with inputs by reference. The isolated agent's model gets what they return.
const inputsScript = `
name: inputs
rules:
- match: {role: orchestrator, lastMessage: Begin}
  reply: {toolCalls: [{name: delegate_to_agent, arguments: {role: general, task: Judge it., inputs: [{file: a.txt}, {tool: read, arguments: {path: b.txt}}]}}]}
- {match: {role: orchestrator, lastMessage: Results of task}, reply: {text: It is judged.}}
- {match: {role: orchestrator}, reply: {text: It works.}}
- {match: {lastMessage: '/(?s)CANARY a.txt.*CANARY b.txt/'}, reply: {toolCalls: [{name: submit_result, arguments: {data: {verdict: spam}}}]}}
- {match: {}, reply: {toolCalls: [{name: submit_error, arguments: {error: I got nothing.}}]}}
`

// judgedCalls are policies that allow everything and record what they judge.
type judgedCalls struct {
	changingPolicies
	calls []string
}

func (p *judgedCalls) Judge(_ context.Context, in PolicyInput) ([]agent.Verdict, bool, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls = append(p.calls, fmt.Sprintf("%s as %s at %d %v: %s %s", in.Agent.Name, in.Role, in.Depth, in.Labels, in.Call.Tool, in.Call.Arguments))
	return nil, !in.Call.ReadOnly, nil
}

// The calls are performed as those of the isolated agent, each result is recorded once however often the engine is killed, and the agent
// that named them gets nothing of it.
func TestInputsByReference(t *testing.T) {
	for _, policed := range []bool{false, true} {
		t.Run(fmt.Sprintf("policed=%t", policed), func(t *testing.T) {
			w := newWorld(t, inputsScript)
			policies := &judgedCalls{}
			if policed {
				policies.set(verdict("", agent.PolicyAllow, ""))
				w.policies = policies
				w.stop()
				w.start(w.ledger)
			}
			w.configure = func(c *agent.Config) {
				c.Role.Allow, c.Role.Approval = []string{"read"}, agent.ApproveNever
				if c.Kind == agent.SubAgent {
					c.Isolated = true
					c.OutputSchema = json.RawMessage(`{"type":"object","additionalProperties":false,"required":["verdict"],"properties":{"verdict":{"enum":["spam","ham"]}}}`)
					return
				}
				for i := range c.Delegates {
					c.Delegates[i].Isolated = c.Delegates[i].Name == "general"
				}
			}
			running := make(chan struct{}, 1)
			var hung atomic.Bool
			w.tools.output = func(ctx context.Context, call tool.Invocation) (tool.Output, error) {
				var in struct{ Path string }
				if err := json.Unmarshal(call.Arguments, &in); err != nil {
					return tool.Output{}, err
				}
				if in.Path == "a.txt" && hung.CompareAndSwap(false, true) {
					running <- struct{}{}
					<-ctx.Done()
				}
				return tool.Output{Text: "CANARY " + in.Path}, ctx.Err()
			}
			finished := func() (done int) {
				for _, call := range w.toolCalls("uid-chat-1", "read") {
					if call.Result != nil && call.Result.Status == ledger.StatusSuccess {
						done++
					}
				}
				return done
			}
			w.chat(nil)
			w.sendMessage("m1", "Begin")
			<-running
			w.until("the result of the other call", func() bool { return finished() == 1 })
			w.awaitRecovery = true
			w.restart()
			w.untilPosted("It is judged.")
			if runs, _ := w.tools.count("read"); runs != 3 || finished() != 2 {
				t.Errorf("the tools ran %d times and %d results are recorded, want the interrupted call again and no other", runs, finished())
			}
			s, err := w.current().View(t.Context(), "uid-chat")
			if err != nil {
				t.Fatal(err)
			}
			state, err := agent.EncodeState(s)
			if err != nil || strings.Contains(string(state), "CANARY") || !strings.Contains(string(state), `{\"verdict\":\"spam\"}`) {
				t.Errorf("the chat has read %s (%v)", state, err)
			}
			if labels := s.LabelNames(); len(labels) > 0 {
				t.Errorf("the chat has the labels %v", labels)
			}
			checkReplay(t, w, "uid-chat")
			checkReplay(t, w, "uid-chat-1")
			if policed {
				checkJudgedInputs(t, policies)
			}
		})
	}
}

func checkJudgedInputs(t *testing.T, policies *judgedCalls) {
	t.Helper()
	policies.mu.Lock()
	defer policies.mu.Unlock()
	for _, name := range []string{"chat", "chat-1"} {
		for _, path := range []string{"a.txt", "b.txt"} {
			want := fmt.Sprintf("%s as orchestrator at 0 []: read {\"path\":\"%s\"}", name, path)
			if !slices.ContainsFunc(policies.calls, func(call string) bool { return strings.ReplaceAll(call, " ", "") == strings.ReplaceAll(want, " ", "") }) {
				t.Errorf("%q was not judged, but %q", want, policies.calls)
			}
		}
	}
}
