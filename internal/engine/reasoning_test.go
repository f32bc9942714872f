// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/engine/exchange"
	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/model"
	"github.com/nestor-dev/nestor/internal/model/schedule"
	"github.com/nestor-dev/nestor/internal/tool"
)

// thinker is a provider whose first reply calls a tool and whose later ones submit. All of them contain reasoning.
type thinker struct {
	mu       sync.Mutex
	requests []model.Request
	tool     string
}

// thought is an item with everything that an encoding may change: spaces, HTML characters, escapes and invalid UTF-8.
const thought = `{ "type": "thinking", "thinking": "a < b && \u003c c", "signature": "EqQB` + "\xff" + `==" }`

// Complete implements model.Client.
func (c *thinker) Complete(_ context.Context, req model.Request, listen func(model.Delta)) (model.Reply, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.requests = append(c.requests, req)
	listen(model.Delta{Reasoning: "I should look first."})
	answered := strings.Contains(string(exchange.Encode(req.Messages)), `"role":"tool"`)
	reply := model.Reply{Reasoning: "I should look first.", Usage: &model.Usage{PromptTokens: 20, CompletionTokens: 10, ReasoningTokens: 7, TotalTokens: 30},
		ReasoningItems: []model.ReasoningItem{
			{API: model.Anthropic, Model: req.Model, Data: json.RawMessage(thought)},
			{API: model.Anthropic, Model: req.Model, Data: json.RawMessage(`{"cut`)},
			{API: model.Anthropic, Model: req.Model, Call: "c1", Data: json.RawMessage(`"of the call"`)},
		}}
	switch {
	case !answered:
		reply.ToolCalls = []model.ToolCall{{ID: "c1", Name: c.tool, Arguments: "{}"}}
	case c.tool == "read":
		reply.ToolCalls = []model.ToolCall{{ID: "c2", Name: "submit_result", Arguments: `{"result":"done"}`}}
	default:
		reply.Text = "That is the answer."
	}
	return reply, nil
}

// Models implements model.Client.
func (c *thinker) Models(context.Context) ([]string, error) { return nil, nil }

// Host implements model.Client.
func (c *thinker) Host() string { return "thinker" }

// newThinkingWorld returns a world in which all agents use a thinker.
func newThinkingWorld(t *testing.T, tool string) (*world, *thinker) {
	t.Helper()
	client := &thinker{tool: tool}
	w := newWorld(t)
	w.crash()
	w.models = func(Models) Models { return fixedModel{Endpoint{Client: client, Model: "claude"}} }
	w.start(w.ledger)
	return w, client
}

// runThinker runs an agent that calls a tool, with or without a crash while the tool runs, and returns its second
// request.
func runThinker(t *testing.T, crash bool) model.Request {
	t.Helper()
	w, client := newThinkingWorld(t, "read")
	running := make(chan struct{}, 1)
	var runs atomic.Int32
	w.tools.beforeAny = func(ctx context.Context, _ tool.Invocation) {
		if runs.Add(1) == 1 && crash {
			running <- struct{}{}
			<-ctx.Done()
		}
	}
	w.task("task", nil)
	if crash {
		<-running
		w.restart()
	}
	if s := w.untilEnded("task"); s.Outcome.Result.Brief() != "done" || s.Usage.ReasoningTokens != 14 {
		t.Errorf("it ended with %s and %d reasoning tokens, want done and 14", s.Outcome, s.Usage.ReasoningTokens)
	}
	checkReplay(t, w, "uid-task")
	client.mu.Lock()
	defer client.mu.Unlock()
	if len(client.requests) != 2 {
		t.Fatalf("%d requests, want 2", len(client.requests))
	}
	return client.requests[1]
}

func TestReasoningItemsSurviveACrash(t *testing.T) {
	before, after := runThinker(t, false), runThinker(t, true)
	if a, b := exchange.Encode(before.Messages), exchange.Encode(after.Messages); string(a) != string(b) {
		t.Errorf("the request is\n%s\nand after a crash\n%s", a, b)
	}
	var items []string
	for _, m := range after.Messages {
		for _, item := range m.ReasoningItems {
			items = append(items, fmt.Sprintf("%s %s %s %s [%s]", m.Role, item.API, item.Model, item.Data, item.Call))
		}
	}
	want := []string{
		`assistant Anthropic claude {"type":"thinking","thinking":"a < b && \u003c c","signature":"EqQB` + "\uFFFD" + `=="} []`,
		`assistant Anthropic claude "of the call" [c1]`,
	}
	if strings.Join(items, "\n") != strings.Join(want, "\n") {
		t.Errorf("the second request contains\n%s\nwant\n%s", strings.Join(items, "\n"), strings.Join(want, "\n"))
	}
}

func TestReasoningIsRecordedButNotPosted(t *testing.T) {
	w, _ := newThinkingWorld(t, "nonsense")
	w.chat(nil)
	w.sendMessage("m1", "Think!")
	w.untilPosted("That is the answer.")
	for _, post := range w.posts {
		if strings.Contains(post, "look first") || strings.Contains(post, "thinking") {
			t.Errorf("a post contains reasoning: %s", post)
		}
	}
	history, err := w.ledger.Load(t.Context(), "uid-chat")
	if err != nil {
		t.Fatal(err)
	}
	replies := 0
	for _, record := range history.Events {
		var e agent.Event
		if err := json.Unmarshal(record.Data, &e); err != nil {
			t.Fatal(err)
		}
		if f, ok := e.Fact.(agent.ModelReplied); ok {
			replies++
			if f.Reasoning != "I should look first." || f.Usage.ReasoningTokens != 7 {
				t.Errorf("the event of the reply contains %q and %d reasoning tokens", f.Reasoning, f.Usage.ReasoningTokens)
			}
		}
	}
	if replies != 2 {
		t.Errorf("%d replies, want 2", replies)
	}
	calls, err := w.ledger.ModelCalls(t.Context(), ledger.CallFilter{Agent: "uid-chat"}, ledger.Page{})
	if err != nil {
		t.Fatal(err)
	}
	for _, listed := range calls.Items {
		call, err := w.ledger.ModelCall(t.Context(), listed.Key)
		if err != nil {
			t.Fatal(err)
		}
		var reply model.Reply
		if err := json.Unmarshal(call.Result.Response, &reply); err != nil || reply.Reasoning != "I should look first." {
			t.Errorf("the recorded reply of %s is %s (%v)", call.Key, call.Result.Response, err)
		}
	}
}

func TestReasoningEffortIsSentWhereSupported(t *testing.T) {
	for name, c := range map[string]struct {
		effort string
		prices model.Prices
		want   model.ReasoningEffort
	}{
		"none is set":              {"", nil, ""},
		"an unknown model":         {"High", nil, model.EffortHigh},
		"a model that reasons":     {"None", model.Prices{{Name: "claude"}}, model.EffortNone},
		"a model that does not":    {"High", model.Prices{{Name: "claude", NoReasoning: true}}, ""},
		"another one that doesn't": {"Low", model.Prices{{Name: "gpt", NoReasoning: true}}, model.EffortLow},
	} {
		t.Run(name, func(t *testing.T) {
			client := &thinker{tool: "read"}
			w := newWorld(t)
			w.crash()
			w.models = func(Models) Models { return fixedModel{Endpoint{Client: client, Model: "claude", Prices: c.prices}} }
			w.start(w.ledger)
			w.task("task", func(config *agent.Config) { config.Role.ReasoningEffort = c.effort })
			w.untilEnded("task")
			for _, req := range client.requests {
				if req.ReasoningEffort != c.want {
					t.Errorf("the effort %q was sent, want %q", req.ReasoningEffort, c.want)
				}
			}
		})
	}
}

// overloadedClient is a provider without capacity.
type overloadedClient struct{ thinker }

// Complete implements model.Client.
func (c *overloadedClient) Complete(_ context.Context, req model.Request, _ func(model.Delta)) (model.Reply, error) {
	c.requests = append(c.requests, req)
	return model.Reply{}, &model.Error{Kind: model.Overloaded, Message: "no capacity"}
}

// A fallback gets the effort of the role although the provider before it accepts none, and the other way round.
func TestReasoningEffortOfAFallback(t *testing.T) {
	for _, first := range []bool{false, true} {
		main, spare := &overloadedClient{}, &thinker{tool: "read"}
		scheduler := schedule.New(schedule.Options{})
		scheduler.SetProvider(schedule.Provider{Name: "main", Fallback: []string{"spare"}})
		scheduler.SetProvider(schedule.Provider{Name: "spare"})
		w := newWorld(t)
		w.crash()
		options := w.options(w.ledger)
		options.Scheduler, options.Random = scheduler, func() float64 { return 0 }
		options.Models = modelsByName{
			"main":  {Client: main, Model: "a", Prices: model.Prices{{Name: "a", NoReasoning: !first}}},
			"spare": {Client: spare, Model: "b", Prices: model.Prices{{Name: "b", NoReasoning: first}}},
		}
		w.mu.Lock()
		w.engine = New(options)
		w.mu.Unlock()
		w.task("task", func(c *agent.Config) { c.Role.ReasoningEffort = "Medium" })
		w.untilEnded("task")
		effort := map[bool]model.ReasoningEffort{true: model.EffortMedium, false: ""}
		if got := main.requests[0].ReasoningEffort; got != effort[first] {
			t.Errorf("the provider got the effort %q, want %q", got, effort[first])
		}
		if got := spare.requests[0].ReasoningEffort; got != effort[!first] {
			t.Errorf("the fallback got the effort %q, want %q", got, effort[!first])
		}
	}
}

// A request with another effort does not continue the previous one: the world compares the recorded requests with
// those sent.
func TestChangedReasoningEffortIsRecorded(t *testing.T) {
	w, client := newThinkingWorld(t, "nonsense")
	w.chat(nil)
	for i, effort := range []string{"", "Low", "High", ""} {
		c := config(agent.Orchestrator, "chat", "orchestrator", 0)
		c.Role.ReasoningEffort, c.Generation = effort, int64(i+1)
		w.deliver("uid-chat", agent.Reconfigured{Config: &c})
		w.sendMessage(fmt.Sprintf("m%d", i), "Think!")
		w.until("another answer", func() bool { return len(w.posts) == i+1 })
	}
	client.mu.Lock()
	defer client.mu.Unlock()
	var efforts []model.ReasoningEffort
	for _, req := range client.requests {
		if n := len(efforts); n == 0 || efforts[n-1] != req.ReasoningEffort {
			efforts = append(efforts, req.ReasoningEffort)
		}
	}
	if want := []model.ReasoningEffort{"", model.EffortLow, model.EffortHigh, ""}; !slices.Equal(efforts, want) {
		t.Errorf("the efforts %q were sent, want %q", efforts, want)
	}
}
