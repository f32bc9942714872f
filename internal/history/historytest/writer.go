// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package historytest writes histories like the engine, without waiting for models and tools: facts go through the
// core, and the resulting events into a ledger.
package historytest

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/agent/budget"
	"github.com/nestor-dev/nestor/internal/ledger"
)

// Start is the time at which the histories of this package start; each event is one second later.
var Start = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

// Writer writes the history of one agent.
type Writer struct {
	Record ledger.Agent
	State  agent.State
	// Usage is that of the tree, which the next events record.
	Usage *budget.Amount

	seq int64
	now time.Time
}

// Chat returns the writer of a chat's orchestrator, which may delegate to a researcher.
func Chat(namespace, name, uid string) *Writer {
	return &Writer{now: Start, Record: ledger.Agent{
		UID: uid, Kind: "AgentChat", Namespace: namespace, Name: name, Root: uid, Chat: name, Role: "orchestrator",
		Provider: "default", Model: "large", CreatedAt: Start,
	}}
}

// Orchestrator returns the first event of a chat.
func (p *Writer) Orchestrator() agent.Started {
	return agent.Started{Config: agent.Config{
		Kind: agent.Orchestrator, Name: p.Record.Name, MaxDepth: 2, Role: agent.Role{Name: "orchestrator", Prompt: "You orchestrate."},
		Delegates: []agent.Delegate{{Name: "researcher"}}, Tools: []agent.Tool{{Name: "write"}},
	}}
}

// SubAgent returns the writer of a chat's sub-agent.
func SubAgent(parent *Writer, name, uid string) *Writer {
	return &Writer{now: parent.now, Record: ledger.Agent{
		UID: uid, Kind: "SubAgent", Namespace: parent.Record.Namespace, Name: name, Parent: parent.Record.UID, Root: parent.Record.Root,
		Chat: parent.Record.Chat, Role: "researcher", Depth: 1, Provider: "default", Model: "small/v1", CreatedAt: parent.now,
	}}
}

// Researcher returns the first event of a sub-agent.
func (p *Writer) Researcher(limits agent.Limits) agent.Started {
	return agent.Started{Config: agent.Config{
		Kind: agent.SubAgent, Name: p.Record.Name, Depth: 1, MaxDepth: 2, Limits: limits,
		Role:  agent.Role{Name: "researcher", Prompt: "You research.", Allow: []string{"*"}},
		Tools: []agent.Tool{{Name: "read", ReadOnly: true}, {Name: "write"}},
		Task:  agent.Task{Instruction: "Count the leap days"},
	}}
}

// Write appends facts in one batch, with the model calls that they start and end.
func (p *Writer) Write(ctx context.Context, l ledger.Writer, facts ...agent.Fact) error {
	return p.WriteImages(ctx, l, nil, facts...)
}

// WriteImages is Write with the images that the facts refer to.
func (p *Writer) WriteImages(ctx context.Context, l ledger.Writer, images []ledger.Image, facts ...agent.Fact) error {
	batch := ledger.Batch{Agent: p.Record.UID, After: p.seq, Images: images}
	if p.seq == 0 {
		batch.Create = &p.Record
	}
	for _, fact := range facts {
		p.now = p.now.Add(time.Second)
		event := agent.Event{At: agent.Time(p.now.UnixMilli()), Fact: fact, Usage: p.Usage}
		data, err := agent.EncodeEvent(event)
		if err != nil {
			return fmt.Errorf("encode %s: %w", agent.FactType(fact), err)
		}
		batch.Events = append(batch.Events, ledger.Event{Type: agent.FactType(fact), At: p.now, Data: data})
		p.endCall(&batch, fact)
		next, effects := agent.Step(p.State, event)
		p.State = next
		p.seq++
		p.startCalls(&batch, effects)
	}
	if o := p.State.Outcome; p.State.Phase.Terminal() {
		batch.Finish = &ledger.Finish{Status: ledger.StatusSuccess, At: p.now}
		if !o.Succeeded() {
			batch.Finish.Status, batch.Finish.ErrorKind = ledger.StatusFailed, string(o.Kind)
		}
	}
	return l.Append(ctx, batch)
}

// Delete ends a chat like the deletion of its object.
func (p *Writer) Delete(ctx context.Context, l ledger.Writer) error {
	return l.Append(ctx, ledger.Batch{Agent: p.Record.UID, After: p.seq, Finish: &ledger.Finish{
		Status: ledger.StatusCancelled, ErrorKind: string(agent.ErrorCancelled), At: p.now,
	}})
}

func (p *Writer) key(call string, attempt int) string {
	return fmt.Sprintf("%s/%s", p.Record.UID, agent.CallModel{Call: call, Attempt: attempt}.Key())
}

func (p *Writer) startCalls(batch *ledger.Batch, effects []agent.Effect) {
	for _, effect := range effects {
		switch e := effect.(type) {
		case agent.CallModel:
			call := ledger.ModelCall{
				Key: p.key(e.Call, e.Attempt), Seq: p.seq, Iteration: p.State.Iterations, Provider: p.Record.Provider, Model: p.Record.Model,
				RequestType: string(e.Purpose), Request: json.RawMessage(`{"model":"` + p.Record.Model + `"}`), StartedAt: p.now,
			}
			if p.Record.Parent != "" {
				call.Parent = p.Record.Parent + "/" + agent.CallModel{Call: "m1", Attempt: 1}.Key()
				call.ContextMode, call.Files = "Selective", []string{"calendar.txt"}
			}
			batch.ModelCalls = append(batch.ModelCalls, call)
		case agent.RunTool:
			batch.ToolCalls = append(batch.ToolCalls, ledger.ToolCall{
				Key: p.Record.UID + "/" + e.Key(), CallID: e.Call, Seq: p.seq, Tool: e.Tool, Arguments: string(e.Arguments), StartedAt: p.now,
			})
		}
	}
}

// endCall records the end of a model call.
func (p *Writer) endCall(batch *ledger.Batch, fact agent.Fact) {
	switch f := fact.(type) {
	case agent.ModelReplied:
		result := ledger.ModelResult{
			Key: p.key(f.Call, p.State.ModelCall.Attempt), Status: ledger.StatusSuccess, Summary: f.Text, FinishedAt: p.now,
			Response: json.RawMessage(`{"text":"…"}`), PromptTokens: &f.Usage.PromptTokens, CompletionTokens: &f.Usage.CompletionTokens,
			CostMicros: f.Usage.CostMicros, Currency: f.Usage.Currency, Sent: json.RawMessage(`{"bodyDigest":"6e34","model":"` + p.Record.Model + `","maxOutputTokens":4096}`),
		}
		batch.ModelResults = append(batch.ModelResults, result)
	case agent.ModelFailed:
		batch.ModelResults = append(batch.ModelResults, ledger.ModelResult{
			Key: p.key(f.Call, f.Attempt), Status: ledger.StatusFailed, Error: f.Message, FinishedAt: p.now,
		})
	}
}

// Replied returns the reply to the model call in flight.
func (p *Writer) Replied(text string, calls ...agent.ToolCall) agent.ModelReplied {
	cost := int64(1500)
	return agent.ModelReplied{
		Call: p.State.ModelCall.ID, Text: text, Calls: calls, Usage: budget.Usage{PromptTokens: 100, CompletionTokens: 20, CostMicros: &cost, Currency: "USD"},
	}
}
