// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/operator"
)

// callsInATurn is the number of tool calls per turn of the long agent: with the reply, eleven messages.
const callsInATurn = 10

// createLongTranscript creates a finished agent with a transcript of the given number of messages. A real run would take twenty
// minutes on a small machine; here the core generates the events, which are written to the ledger directly. The
// operator must be stopped, because it does not have the task.
func (s *stack) createLongTranscript(ctx context.Context, namespace, chat string, messages int) (map[string]string, error) {
	api, err := client.New(s.cluster.Config, client.Options{Scheme: operator.NewScheme()})
	if err != nil {
		return nil, fmt.Errorf("connect to the cluster: %w", err)
	}
	var space corev1.Namespace
	if err := api.Get(ctx, client.ObjectKey{Name: namespace}, &space); err != nil {
		return nil, fmt.Errorf("get the namespace %s: %w", namespace, err)
	}
	sub, err := finishedAgent(ctx, api, namespace, chat)
	if err != nil {
		return nil, err
	}
	events, err := longRun(sub.Name, messages)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	return map[string]string{"agent": sub.Name, "events": fmt.Sprint(len(events))}, s.ledger.Append(ctx, ledger.Batch{
		Agent: string(sub.UID), Events: events, Finish: &ledger.Finish{Status: ledger.StatusSuccess, At: now},
		Create: &ledger.Agent{
			UID: string(sub.UID), Root: string(sub.UID), Kind: "SubAgent", Namespace: namespace, NamespaceUID: string(space.UID),
			Name: sub.Name, Chat: chat, Role: "scribe", Depth: 1, CreatedAt: now,
		},
	})
}

// finishedAgent creates the objects of a chat whose only agent has ended.
func finishedAgent(ctx context.Context, api client.Client, namespace, chat string) (*v1beta1.SubAgent, error) {
	labels := map[string]string{v1beta1.LabelChat: chat}
	meta := metav1.ObjectMeta{Namespace: namespace, Name: chat + "-1", Labels: labels}
	task := &v1beta1.AgentTask{ObjectMeta: meta, Spec: v1beta1.AgentTaskSpec{Chat: chat, Type: v1beta1.TaskAgent, Role: "scribe", Instruction: "Keep a long record."}}
	sub := &v1beta1.SubAgent{ObjectMeta: meta, Spec: v1beta1.SubAgentSpec{Chat: chat, Task: task.Name, Role: "scribe", Depth: 1, Instruction: task.Spec.Instruction}}
	for _, object := range []client.Object{&v1beta1.AgentChat{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: chat}}, task, sub} {
		if err := api.Create(ctx, object); err != nil {
			return nil, fmt.Errorf("create %T: %w", object, err)
		}
	}
	task.Status.Phase, task.Status.SubAgent, sub.Status.Phase = v1beta1.TaskSuccess, sub.Name, v1beta1.SubAgentCompleted
	for _, object := range []client.Object{task, sub} {
		if err := api.Status().Update(ctx, object); err != nil {
			return nil, fmt.Errorf("update the status of %T: %w", object, err)
		}
	}
	return sub, nil
}

// longRun returns the events of an agent that uses tools until it has the given number of messages.
func longRun(name string, messages int) ([]ledger.Event, error) {
	config := agent.Config{
		Kind: agent.SubAgent, Name: name, Role: agent.Role{Name: "scribe", DisplayName: "Scribe"}, Depth: 1, MaxDepth: 2, Task: agent.Task{Instruction: "Keep a long record."},
		Tools:  []agent.Tool{{Name: "calculator", BuiltIn: true, ReadOnly: true}},
		Limits: agent.Limits{MaxIterations: 10_000, ContextTokens: 100_000_000, MaxOutputTokens: 1000},
	}
	var state agent.State
	var events []ledger.Event
	facts := []agent.Fact{agent.Started{Config: config}}
	for len(facts) > 0 {
		at := time.UnixMilli(1_760_000_000_000 + int64(len(events)))
		event := agent.Event{At: agent.Time(at.UnixMilli()), Fact: facts[0]}
		data, err := json.Marshal(event)
		if err != nil {
			return nil, fmt.Errorf("encode an event: %w", err)
		}
		events = append(events, ledger.Event{Type: agent.FactType(event.Fact), At: at, Data: data})
		var effects []agent.Effect
		state, effects = agent.Step(state, event)
		facts = append(facts[1:], factsFor(effects, len(events), messages)...)
	}
	return events, nil
}

func factsFor(effects []agent.Effect, so, messages int) []agent.Fact {
	var facts []agent.Fact
	for _, effect := range effects {
		switch e := effect.(type) {
		case agent.CallModel:
			reply := agent.ModelReplied{Call: e.Call, Text: fmt.Sprintf("After %d messages I go on.", so)}
			for i := range callsInATurn {
				reply.Calls = append(reply.Calls, agent.ToolCall{ID: fmt.Sprintf("call_%d_%d", so, i), Tool: "calculator", Arguments: fmt.Sprintf(`{"expression":"%d + %d"}`, so, i)})
			}
			if so >= messages {
				reply = agent.ModelReplied{Call: e.Call, Text: "The record is long enough."}
			}
			facts = append(facts, reply)
		case agent.RunTool:
			facts = append(facts, agent.ToolFinished{Call: e.Call, Outcome: agent.ToolSucceeded, Text: fmt.Sprint(so)})
		}
	}
	return facts
}
