// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/tool"
)

// depths are the roles of a runaway tree by depth. The one at the depth of the test misbehaves, those above delegate to it on
// every input, and those below do their work.
var depths = []string{"orchestrator", "planner", "coder", "general"}

// misbehaviours are scripts of models that never finish.
var misbehaviours = map[string]string{
	"delegates again":       `{toolCalls: [{name: delegate_to_agent, arguments: {role: %s, task: 'again {{.turn}}'}}]}`,
	"spawns 50 at a time":   `{toolCalls: [{name: spawn_agents, arguments: {tasks: [` + strings.TrimSuffix(strings.Repeat("{task: more, role: %[1]s},", 50), ",") + `]}}]}`,
	"only asks questions":   `{toolCalls: [{name: ask_user, arguments: {question: 'Question {{.turn}}'}}]}`,
	"only continues agents": `{toolCalls: [{name: continue_agent, arguments: {sub_agent: 'chat-{{.turn}}', message: go on}}]}`,
	"talks nonsense":        `{text: 'Hm {{.turn}}', toolCalls: [{name: no_such_tool, arguments: {}}, {name: delegate_to_agent, arguments: {role: nobody, task: x}}]}`,
}

// runawayScript returns the script of a tree in which the model at one depth misbehaves.
func runawayScript(depth int, reply string) string {
	var b strings.Builder
	b.WriteString("name: runaway\nrules:\n")
	b.WriteString("- {match: {noTools: true}, reply: {text: That is all.}}\n")
	b.WriteString("- {match: {role: orchestrator, lastMessage: '/sub_agent \"(?P<agent>[a-z0-9-]+)\"\\) is asking/'}, reply: {toolCalls: [{name: reply_to_agent, arguments: {sub_agent: '{{.agent}}', answer: 'Yes', confidence: 90}}]}}\n")
	for d, role := range depths {
		switch {
		case d < depth:
			fmt.Fprintf(&b, "- {match: {role: %s, from: user}, reply: {toolCalls: [{name: delegate_to_agent, arguments: {role: %s, task: 'work {{.turn}}'}}]}}\n", role, depths[d+1])
			fmt.Fprintf(&b, "- {match: {role: %s, from: tool}, reply: {text: 'Going on {{.turn}}'}}\n", role)
		case d == depth:
			if strings.Contains(reply, "%") {
				reply = fmt.Sprintf(reply, depths[d+1])
			}
			fmt.Fprintf(&b, "- {match: {role: %s}, reply: %s}\n", role, reply)
		default:
			fmt.Fprintf(&b, "- {match: {role: %s}, reply: {text: 'Done {{.turn}}'}}\n", role)
		}
	}
	return b.String()
}

// Whatever the models of a tree reply, its limits bound the turns, tasks and tokens per message of a person.
func TestRunawayLimitsHold(t *testing.T) {
	const turns, tasks, tokens = 6, 30, 400_000
	for name, reply := range misbehaviours {
		for depth := range 3 {
			if strings.Contains(reply, "continue_agent") && depth > 0 {
				continue // only orchestrators continue agents
			}
			t.Run(fmt.Sprintf("%s at depth %d", name, depth), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, runawayScript(depth, reply))
				w.configure = func(c *agent.Config) {
					c.MaxDepth = 3
					c.Limits.MaxRepeats = 5
					c.Delegates = nil
					if c.Depth < c.MaxDepth {
						c.Delegates = []agent.Delegate{{Name: depths[c.Depth+1]}}
					}
				}
				w.chat(func(l *agent.Limits) {
					l.MaxTurnsPerMessage, l.MaxTasksPerMessage, l.MaxTokensPerMessage = turns, tasks, tokens
				})
				for i := range 2 {
					w.sendMessage(fmt.Sprintf("m%d", i), "Go")
					w.untilQuiet(i)
					checkWindow(t, w, turns*(i+1), tasks*(i+1), int64(tokens)*int64(i+1))
				}
			})
		}
	}
}

// untilQuiet waits until the orchestrator is idle and everything else has ended or waits for a person.
func (w *world) untilQuiet(message int) {
	w.t.Helper()
	w.until("the tree to be idle", func() bool {
		chat, err := w.engine.View(w.t.Context(), "uid-chat")
		handled := slices.Contains(w.handled, fmt.Sprintf("m%d", message))
		if err != nil || chat.Phase != agent.PhaseIdle || !handled || len(chat.Outbox) > 0 {
			return false
		}
		for _, child := range chat.Children.Live {
			if child.Outcome == nil && !child.Waiting {
				return false
			}
		}
		return chat.Paused != nil || (len(chat.Inbox) == 0 && w.engine.Stats().InFlight == 0)
	})
}

func checkWindow(t *testing.T, w *world, turns, tasks int, tokens int64) {
	t.Helper()
	chat, err := w.engine.View(t.Context(), "uid-chat")
	if err != nil {
		t.Fatal(err)
	}
	if chat.Turn.Number > turns {
		t.Errorf("%d turns, the limit is %d", chat.Turn.Number, turns)
	}
	agents := w.tree()
	if len(agents)-1 > tasks {
		t.Errorf("%d tasks, the limit is %d", len(agents)-1, tasks)
	}
	var used int64
	for _, a := range agents {
		calls, err := w.ledger.ModelCalls(t.Context(), ledger.CallFilter{Agent: a.UID}, ledger.Page{Limit: ledger.MaxLimit})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range calls.Items {
			if c.Result != nil && c.Result.PromptTokens != nil {
				used += *c.Result.PromptTokens + *c.Result.CompletionTokens
			}
		}
	}
	if used > tokens {
		t.Errorf("%d tokens, the limit is %d", used, tokens)
	}
	if len(w.model.Requests()) == 0 || used == 0 {
		t.Error("no model calls were made: the test checks nothing")
	}
}

// The token limit per message does not include earlier usage: a tree that reached it continues after the next message.
func TestMaxTokensPerMessage(t *testing.T) {
	w := newWorld(t, runawayScript(1, `{toolCalls: [{name: delegate_to_agent, arguments: {role: coder, task: 'more {{.turn}}'}}]}`))
	w.configure = func(c *agent.Config) {
		c.MaxDepth, c.Delegates = 3, nil
		if c.Depth < c.MaxDepth {
			c.Delegates = []agent.Delegate{{Name: depths[c.Depth+1]}}
		}
	}
	const limit = 12_000
	w.chat(func(l *agent.Limits) { l.MaxTokensPerMessage = limit })
	requests := 0
	for i := range 3 {
		w.sendMessage(fmt.Sprintf("m%d", i), "Go")
		w.untilQuiet(i)
		chat, err := w.engine.View(t.Context(), "uid-chat")
		if err != nil {
			t.Fatal(err)
		}
		if chat.Paused == nil || chat.Paused.Reason != agent.PausedTokenLimit {
			t.Fatalf("the chat is paused because of %v, want the token limit", chat.Paused)
		}
		if n := len(w.model.Requests()); n <= requests {
			t.Fatalf("message %d led to no model call", i+1)
		} else {
			requests = n
		}
		checkWindow(t, w, 1000, 1000, limit*int64(i+1))
	}
}

// The calls of a reply run with bounded parallelism.
func TestManyCallsRunInBoundedParallel(t *testing.T) {
	const calls = 120
	var b strings.Builder
	b.WriteString("name: many\nrules:\n- {match: {role: coder, from: tool}, reply: {text: Read all.}}\n- {match: {role: coder}, reply: {toolCalls: [")
	for i := range calls {
		fmt.Fprintf(&b, "{name: read, arguments: {path: f%d}},", i)
	}
	b.WriteString("{name: write, arguments: {path: x}}]}}\n")
	w := newWorld(t, b.String())
	running, most := make(chan int, 1), 0
	running <- 0
	w.tools.beforeAny = func(_ context.Context, call tool.Invocation) {
		n := <-running + 1
		most = max(most, n)
		if call.Name == "write" && n > 1 {
			t.Errorf("%d calls run beside one that changes something", n-1)
		}
		running <- n
		running <- <-running - 1
	}
	w.task("task", func(c *agent.Config) { c.Role.Approval = agent.ApproveNever })
	if s := w.untilEnded("task"); !s.Outcome.Succeeded() {
		t.Fatalf("ended with %v", s.Outcome)
	}
	if runs, _ := w.tools.count("read"); runs != calls {
		t.Errorf("%d of %d calls ran", runs, calls)
	}
	if most > 16 {
		t.Errorf("%d calls ran in parallel", most)
	}
}
