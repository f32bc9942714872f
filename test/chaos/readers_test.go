// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/ledger"
)

type objects struct {
	chats    v1beta1.AgentChatList
	tasks    v1beta1.AgentTaskList
	agents   v1beta1.SubAgentList
	messages v1beta1.AgentMessageList
	triggers v1beta1.AgentTriggerList
}

func (w *world) objects(ctx context.Context) (*objects, error) {
	o := &objects{}
	for _, list := range []client.ObjectList{&o.chats, &o.tasks, &o.agents, &o.messages, &o.triggers} {
		if err := w.stack.API.List(ctx, list, client.InNamespace(namespace)); err != nil {
			return nil, fmt.Errorf("list the objects: %w", err)
		}
	}
	return o, nil
}

// readAll reads the API server and then the ledger, which is always ahead of the objects.
func (w *world) readAll(ctx context.Context) (*objects, map[string]*agentRecord, error) {
	found, err := w.objects(ctx)
	if err != nil {
		return nil, nil, err
	}
	lives, err := w.readAgents(ctx)
	return found, lives, err
}

type agentRecord struct {
	record ledger.Agent
	events []agent.Event
	// state is the fold of all events.
	state agent.State
	calls []ledger.ToolCall
	// damaged reports that its events were damaged on purpose.
	damaged bool
}

func (w *world) readAgents(ctx context.Context) (map[string]*agentRecord, error) {
	lives := map[string]*agentRecord{}
	for page := (ledger.Page{}); ; {
		list, err := w.ledger.Agents(ctx, ledger.AgentFilter{}, page)
		if err != nil {
			return nil, fmt.Errorf("read the agents: %w", err)
		}
		for _, record := range list.Items {
			if lives[record.UID], err = w.readAgent(ctx, record); err != nil {
				return nil, err
			}
		}
		if page.Cursor = list.Next; page.Cursor == "" {
			return lives, nil
		}
	}
}

func (w *world) readAgent(ctx context.Context, record ledger.Agent) (*agentRecord, error) {
	l := &agentRecord{record: record}
	for after := int64(0); ; {
		events, err := w.ledger.Events(ctx, record.UID, after, 500)
		if err != nil {
			return nil, fmt.Errorf("read the events of %s: %w", record.Name, err)
		}
		for _, e := range events {
			var event agent.Event
			after = e.Seq
			switch err := json.Unmarshal(e.Data, &event); {
			case err == nil:
				l.events = append(l.events, event)
			case w.faults.damaged[record.UID]: // the events after it end the agent
				l.damaged, l.events = true, nil
			default:
				return nil, fmt.Errorf("event %d of %s: %w", e.Seq, record.Name, err)
			}
		}
		if len(events) == 0 {
			break
		}
	}
	l.state = agent.Replay(agent.State{}, l.events)
	for page := (ledger.Page{}); ; {
		list, err := w.ledger.ToolCalls(ctx, record.UID, page)
		if err != nil {
			return nil, fmt.Errorf("read the tool calls of %s: %w", record.Name, err)
		}
		l.calls = append(l.calls, list.Items...)
		if page.Cursor = list.Next; page.Cursor == "" {
			return l, nil
		}
	}
}

func (w *world) modelCalls(ctx context.Context) ([]ledger.ModelCall, error) {
	var calls []ledger.ModelCall
	for page := (ledger.Page{}); ; {
		list, err := w.ledger.ModelCalls(ctx, ledger.CallFilter{}, page)
		if err != nil {
			return nil, fmt.Errorf("read the model calls: %w", err)
		}
		calls = append(calls, list.Items...)
		if page.Cursor = list.Next; page.Cursor == "" {
			return calls, nil
		}
	}
}

type request struct {
	At             time.Time `json:"at"`
	Status         int       `json:"status"`
	Rule           string    `json:"rule"`
	Error          string    `json:"error"`
	IdempotencyKey string    `json:"idempotencyKey"`
}

func (w *world) requests(ctx context.Context) ([]request, error) {
	var answer struct {
		Total    int       `json:"total"`
		Requests []request `json:"requests"`
	}
	if err := w.stack.ReadModelLog(ctx, "", &answer); err != nil {
		return nil, err
	}
	if answer.Total != len(answer.Requests) {
		return nil, fmt.Errorf("the model's log contains %d of %d requests", len(answer.Requests), answer.Total)
	}
	return answer.Requests, nil
}
