// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/agent/budget"
	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/projection"
)

// checkReplays compares the fold of every agent's events with the status of its object.
func (w *world) checkReplays(ctx context.Context) error {
	found, lives, err := w.readAll(ctx)
	if err != nil {
		return err
	}
	var wrong problems
	for i := range found.agents.Items {
		sub := &found.agents.Items[i]
		l := lives[string(sub.UID)]
		switch {
		case l != nil && l.damaged: // the counts of damaged events are only in the status
		case l != nil:
			folded := sub.DeepCopy()
			projection.SubAgentRun(folded).Show(l.state, projection.Work{})
			compare(&wrong, "sub-agent "+sub.Name, sub.Status, folded.Status)
		case sub.Status.Error == nil || sub.Status.StartTime != nil: // otherwise it was cancelled before it started
			wrong.add("the ledger has no record of sub-agent %s, which is %s", sub.Name, sub.Status.Phase)
		}
	}
	for i := range found.tasks.Items {
		task := &found.tasks.Items[i]
		if l := lives[runnerOf(found, task)]; l != nil && !l.damaged {
			folded := task.DeepCopy()
			projection.TaskRun(folded).Show(l.state, projection.Work{})
			if folded.Status.CompletionTime == nil { // until it ends, only the sub-agent has the numbers
				folded.Status.Iterations, folded.Status.Usage = task.Status.Iterations, task.Status.Usage
			}
			compare(&wrong, "task "+task.Name, task.Status, folded.Status)
		}
	}
	for i := range found.chats.Items {
		chat := &found.chats.Items[i]
		if l := lives[string(chat.UID)]; l == nil {
			wrong.add("the ledger has no record of chat %s", chat.Name)
		} else {
			compare(&wrong, "chat "+chat.Name, chat.Status, projection.Chat(l.state, factsOf(found, chat), chat.Status, chat.Generation))
		}
	}
	return wrong.err()
}

func compare[T any](wrong *problems, what string, shown, folded T) {
	if !equality.Semantic.DeepEqual(shown, folded) {
		wrong.add("status (-) and events (+) of %s differ:\n%s", what, cmp.Diff(shown, folded, cmpopts.EquateEmpty()))
	}
}

func runnerOf(found *objects, task *v1beta1.AgentTask) string {
	if task.Spec.Type == v1beta1.TaskTool {
		return string(task.UID)
	}
	i := slices.IndexFunc(found.agents.Items, func(sub v1beta1.SubAgent) bool { return sub.Name == task.Name })
	if i < 0 {
		return ""
	}
	return string(found.agents.Items[i].UID)
}

// factsOf counts the objects of a chat. The last message depends on timing and is taken from the status.
func factsOf(found *objects, chat *v1beta1.AgentChat) projection.ChatFacts {
	facts := projection.ChatFacts{LastMessage: chat.Status.LastMessage}
	for i := range found.tasks.Items {
		task := &found.tasks.Items[i]
		if task.Labels[v1beta1.LabelChat] == chat.Name {
			facts.Tasks = projection.CountTask(facts.Tasks, task.Status.Phase)
		}
	}
	for i := range found.messages.Items {
		if found.messages.Items[i].Labels[v1beta1.LabelChat] == chat.Name {
			facts.Messages++
		}
	}
	return facts
}

// checkNoRepeatedWrites checks the workshop's log: each write happened at most once, by key and by step. Every write
// has an intent in the ledger, and no denied write happened.
func (w *world) checkNoRepeatedWrites(ctx context.Context) error {
	log := w.tools.executions() // read before the ledger, which has the intent first
	lives, err := w.readAgents(ctx)
	if err != nil {
		return err
	}
	intents := map[string]ledger.ToolCall{}
	for _, l := range lives {
		for _, call := range l.calls {
			intents[call.Key] = call
		}
	}
	var wrong problems
	byKey, byCall := map[string]int{}, map[string]int{}
	for _, e := range log {
		call, known := intents[e.Key]
		switch {
		case e.Key == "":
			wrong.add("%s of step %s of job %s ran without an idempotency key", e.Tool, e.Step, e.Job)
		case !known:
			wrong.add("%s of step %s of job %s ran, but the ledger has no intent %s", e.Tool, e.Step, e.Job, e.Key)
		case !strings.Contains(call.Arguments, fmt.Sprintf("%q", e.Job)):
			wrong.add("the key %s was used for job %s; its intent has the arguments %s", e.Key, e.Job, call.Arguments)
		}
		if e.Tool != stepWrite {
			continue
		}
		byKey[e.Key]++
		byCall[e.Job+" step "+e.Step]++
	}
	for key, n := range byKey {
		if n > 1 {
			wrong.add("the write with the key %s ran %d times", key, n)
		}
	}
	for call, n := range byCall {
		if n > 1 {
			wrong.add("the write of job %s ran %d times", call, n)
		}
	}
	return wrong.err()
}

// checkNoRepeatedCalls compares the model's log with the ledger. An interrupted call may be repeated, but not one with
// a recorded end, whichever operator was running, suspended or resumed.
func (w *world) checkNoRepeatedCalls(ctx context.Context) error {
	requests, err := w.requests(ctx) // read before the ledger, which has the intent first
	if err != nil {
		return err
	}
	calls, err := w.modelCalls(ctx)
	if err != nil {
		return err
	}
	later, err := w.requests(ctx) // a chat may have continued meanwhile
	if err != nil {
		return err
	}
	finished := map[string]ledger.ModelResult{}
	known := map[string]bool{}
	for _, call := range calls {
		known[call.Key] = true
		if call.Result != nil && call.Result.Status == ledger.StatusSuccess {
			finished[call.Key] = *call.Result
		}
	}
	var wrong problems
	for _, r := range requests {
		result, ok := finished[r.IdempotencyKey]
		switch {
		case r.IdempotencyKey == "":
			wrong.add("a request at %s has no idempotency key", r.At)
		case !known[r.IdempotencyKey]:
			wrong.add("the model got the request %s, but the ledger has no intent of it", r.IdempotencyKey)
		case ok && r.At.After(result.FinishedAt):
			wrong.add("the call %s ended at %s and was repeated at %s", r.IdempotencyKey, result.FinishedAt, r.At)
		case r.Status == 400:
			wrong.add("the model could not understand %s: %s", r.IdempotencyKey, r.Error)
		}
	}
	asked := map[string]bool{}
	for _, r := range later {
		asked[r.IdempotencyKey] = true
	}
	for key := range finished {
		if !asked[key] {
			wrong.add("the call %s succeeded, but the model got no request", key)
		}
	}
	return wrong.err()
}

// checkBudgets checks the usage of every agent and tree with a limit.
func (w *world) checkBudgets(ctx context.Context) error {
	calls, err := w.modelCalls(ctx)
	if err != nil {
		return err
	}
	used, trees := map[string]int64{}, map[string]int64{}
	for _, call := range calls {
		if r := call.Result; r != nil && r.PromptTokens != nil && r.CompletionTokens != nil {
			used[call.Agent] += *r.PromptTokens + *r.CompletionTokens
			trees[call.Root] += *r.PromptTokens + *r.CompletionTokens
		}
	}
	lives, err := w.readAgents(ctx)
	if err != nil {
		return err
	}
	var wrong problems
	for uid, l := range lives {
		limit := l.state.Config.Limits.MaxTokens
		if limit == 0 {
			continue
		}
		total := used[uid]
		if l.state.Config.Kind == agent.Orchestrator {
			total = trees[uid]
		}
		if total > limit {
			wrong.add("%s %s has used %d of %d tokens", l.record.Kind, l.record.Name, total, limit)
		}
		if l.state.Budget.Reserved != (budget.Amount{}) && l.state.Phase.Terminal() {
			wrong.add("%s %s has ended but still reserves %v", l.record.Kind, l.record.Name, l.state.Budget.Reserved)
		}
	}
	return wrong.err()
}
