// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/engine"
	"github.com/nestor-dev/nestor/internal/ledger"
)

var (
	researcher   = agent.Delegate{Name: "researcher"}
	orchestrator = agent.Config{Kind: agent.Orchestrator, Delegates: []agent.Delegate{researcher}, AutoAnswer: agent.AutoAnswer{Enabled: true, MinConfidence: 70, MaxPerQuestion: 2}}
	chat         = ledger.Agent{UID: "uid-chat", Kind: "AgentChat", Namespace: "ns", Name: "chat", Root: "uid-chat", Chat: "chat", Role: "orchestrator", Model: "big"}
)

func delegate(id string) agent.ToolCall {
	return agent.ToolCall{ID: id, Tool: agent.ToolDelegate, Arguments: `{"role":"researcher","task":"look"}`}
}

func TestMessageIsOneTrace(t *testing.T) {
	w := newWorld(t)
	top := w.start(chat, orchestrator)
	top.apply(agent.MessageArrived{Message: "m1", Text: "hello"})
	top.reply("", delegate("d1"))
	top.reply("started")
	sub := top.below("chat-1", "researcher", agent.Config{Delegates: []agent.Delegate{researcher}})
	sub.reply("", delegate("d2"))

	// Another process takes over with nothing but the states.
	before := w.spans.Ended()
	w.restart()
	deep := sub.below("chat-1-1", "researcher", agent.Config{Tools: []agent.Tool{{Name: "read", BuiltIn: true, ReadOnly: true}}})
	deep.reply("", agent.ToolCall{ID: "r1", Tool: "read", Arguments: `{"path":"secret"}`})
	ran := engine.CompletedCall{Agent: deep.record, Effect: agent.RunTool{ModelCall: "m1", Call: "r1", Tool: "read"}, Tool: "read", Status: ledger.StatusSuccess, Started: toTime(w.clock), Duration: 3 * time.Second}
	w.clock += 2000
	deep.applyWith([]engine.CompletedCall{ran}, agent.ToolFinished{Call: "r1", Outcome: agent.ToolSucceeded, Text: "secret text"})
	deep.reply("found")
	sub.apply(agent.ChildFinished{Child: "chat-1-1", Outcome: *deep.state.Outcome})
	sub.reply("found it")
	top.apply(agent.ChildFinished{Child: "chat-1", Outcome: *sub.state.Outcome})
	top.reply("here it is")

	all := append(before, w.spans.Ended()...)
	want := `invoke_agent orchestrator 3s-5s
  chat big 3s-4s
  execute_tool delegate_to_agent 4s-4s
    invoke_agent researcher 6s-15s
      chat small 6s-7s
      execute_tool delegate_to_agent 7s-14s
        invoke_agent researcher 8s-13s
          chat small 8s-9s
          execute_tool read 9s-12s
          chat small 12s-13s
      chat small 14s-15s
  chat big 4s-5s
  invoke_agent orchestrator 16s-17s
    chat big 16s-17s
`
	if diff := cmp.Diff(want, render(t, all)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	for _, s := range all {
		if s.SpanContext().TraceID() != all[0].SpanContext().TraceID() {
			t.Errorf("%s is in a different trace", s.Name())
		}
		if strings.Contains(formatAttributes(s), "secret") {
			t.Errorf("%s contains content although that is disabled: %s", s.Name(), formatAttributes(s))
		}
	}
}

func formatAttributes(s sdktrace.ReadOnlySpan) string {
	var b strings.Builder
	for _, kv := range s.Attributes() {
		b.WriteString(string(kv.Key) + "=" + kv.Value.String() + " ")
	}
	return b.String() + s.Status().Description
}

func TestEachMessageIsOneTrace(t *testing.T) {
	w := newWorld(t)
	top := w.start(chat, orchestrator)
	top.apply(agent.MessageArrived{Message: "m1", Text: "hello"})
	top.reply("hello")
	top.apply(agent.MessageArrived{Message: "m2", Text: "and?"})
	top.reply("nothing")
	spans := w.spans.Ended()
	if len(spans) != 4 || spans[0].SpanContext().TraceID() != spans[1].SpanContext().TraceID() || spans[0].SpanContext().TraceID() == spans[2].SpanContext().TraceID() {
		t.Errorf("want one trace for each of the two messages:\n%s", w.tree())
	}
}

// The orchestrator's turn about a sub-agent's question belongs to the message that the sub-agent works on.
func TestQuestionStaysInTrace(t *testing.T) {
	w := newWorld(t)
	top := w.start(chat, orchestrator)
	top.apply(agent.MessageArrived{Message: "m1", Text: "hello"})
	top.reply("", delegate("d1"))
	top.reply("started")
	sub := top.below("chat-1", "researcher", agent.Config{})
	sub.reply("", agent.ToolCall{ID: "q1", Tool: agent.ToolAskUser, Arguments: `{"question":"which?"}`})
	top.apply(agent.Asked{Agent: "chat-1", Task: "chat-1", Call: "q1", Kind: agent.AskQuestion, Text: "which?"})
	top.reply("", agent.ToolCall{ID: "a1", Tool: agent.ToolReply, Arguments: `{"sub_agent":"chat-1","answer":"this","confidence":90}`})
	top.reply("")
	sub.apply(agent.Answered{Call: "q1", Text: "this"})
	sub.reply("done")
	want := `invoke_agent orchestrator 3s-5s
  chat big 3s-4s
  execute_tool delegate_to_agent 4s-4s
    invoke_agent researcher 6s-12s
      chat small 6s-7s
      execute_tool ask_user 7s-11s
      chat small 11s-12s
  chat big 4s-5s
  invoke_agent orchestrator 8s-10s
    chat big 8s-9s
    execute_tool reply_to_agent 9s-9s
    chat big 9s-10s
`
	if diff := cmp.Diff(want, w.tree()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestApprovalIsASiblingSpan(t *testing.T) {
	w := newWorld(t)
	sub := w.start(ledger.Agent{UID: "uid-task", Kind: "SubAgent", Namespace: "ns", Name: "task", Root: "uid-task", Role: "coder", Depth: 1, Model: "small"},
		agent.Config{Kind: agent.SubAgent, Tools: []agent.Tool{{Name: "write", BuiltIn: true}}})
	sub.reply("", agent.ToolCall{ID: "w1", Tool: "write", Arguments: `{}`}, agent.ToolCall{ID: "w2", Tool: "write", Arguments: `{}`})
	w.clock += 60_000
	sub.apply(agent.Decided{Call: "w1", Approve: true}, agent.Decided{Call: "w2"})
	sub.apply(agent.Restarted{Unknown: []string{"w1"}})
	sub.reply("done")
	want := `invoke_agent coder 2s-67s
  chat small 2s-3s
  await_approval write 3s-64s
  execute_tool write 3s-65s !Denied
  await_approval write 3s-65s
  execute_tool write 3s-66s !Unknown
  chat small 66s-67s
`
	if diff := cmp.Diff(want, w.tree()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestFailedRuns(t *testing.T) {
	w := newWorld(t)
	record := ledger.Agent{UID: "uid-task", Kind: "SubAgent", Namespace: "ns", Name: "task", Root: "uid-task", Role: "coder", Depth: 1, Model: "small"}
	sub := w.start(record, agent.Config{Kind: agent.SubAgent})
	failed := engine.CompletedCall{Agent: record, Effect: agent.CallModel{Call: "m1", Attempt: 1}, Failure: "Unauthorized", Started: toTime(w.clock), Duration: time.Second,
		Request: sub.request(), Server: "api.openai.com"}
	sub.applyWith([]engine.CompletedCall{failed}, agent.ModelFailed{Call: "m1", Attempt: 1, Failure: agent.FailureFinal, Message: "secret words"})
	if got, want := w.tree(), "invoke_agent coder 2s-3s !ModelError\n  chat small 2s-3s !Unauthorized\n"; got != want {
		t.Errorf("got:\n%swant:\n%s", got, want)
	}
	if description := w.find("invoke_agent coder").Status().Description; description != "" {
		t.Errorf("the span contains the provider's message: %q", description)
	}
}

func TestCancelledTurn(t *testing.T) {
	w := newWorld(t)
	top := w.start(chat, orchestrator)
	top.apply(agent.MessageArrived{Message: "m1", Text: "hello"})
	top.apply(agent.Cancelled{})
	if got, want := w.tree(), "invoke_agent orchestrator 3s-4s !Cancelled\n"; got != want {
		t.Errorf("got:\n%swant:\n%s", got, want)
	}
}

func TestDeletedAgentIsRecorded(t *testing.T) {
	w := newWorld(t)
	sub := w.start(ledger.Agent{UID: "uid-task", Kind: "SubAgent", Name: "task", Root: "uid-task", Role: "coder"}, agent.Config{Kind: agent.SubAgent, Delegates: []agent.Delegate{researcher}})
	sub.reply("", delegate("d1"))
	before := sub.state
	e := agent.Event{At: 9000, Fact: agent.Cancelled{User: "deletion"}}
	after, _ := agent.Step(before, e)
	w.telemetry.Recorded(engine.Change{Agent: sub.record, Before: before, After: after, Events: []agent.Event{e}, Deleted: true})
	if got, want := w.tree(), "invoke_agent coder 2s-9s !Cancelled\n  chat  2s-3s\n  execute_tool delegate_to_agent 3s-9s !Failed\n"; got != want {
		t.Errorf("got:\n%swant:\n%s", got, want)
	}
}
