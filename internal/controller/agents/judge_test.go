// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agents

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/projection"
)

var atNoon = metav1.Unix(43200, 0)

// The objects that the tables judge: a task with a sub-agent, a task that is one tool call, and a sub-agent.
func agentTask(change func(*v1beta1.AgentTask)) projection.Run {
	task := &v1beta1.AgentTask{Spec: v1beta1.AgentTaskSpec{Type: v1beta1.TaskAgent}}
	change(task)
	return projection.TaskRun(task)
}

func toolTask(change func(*v1beta1.AgentTask)) projection.Run {
	return agentTask(func(task *v1beta1.AgentTask) {
		task.Spec.Type = v1beta1.TaskTool
		change(task)
	})
}

func subAgent(change func(*v1beta1.SubAgent)) projection.Run {
	sub := &v1beta1.SubAgent{}
	change(sub)
	return projection.SubAgentRun(sub)
}

func TestJudge(t *testing.T) {
	plainTask, plainSub := func(*v1beta1.AgentTask) {}, func(*v1beta1.SubAgent) {}
	cancelTask, cancelSub := func(o *v1beta1.AgentTask) { o.Spec.Cancel = true }, func(o *v1beta1.SubAgent) { o.Spec.Cancel = true }
	endedSub := func(o *v1beta1.SubAgent) { o.Status.CompletionTime = &atNoon }
	running := agent.State{Phase: agent.PhaseRequesting}
	ended := agent.State{Phase: agent.PhaseCompleted, Outcome: &agent.Outcome{}}
	lost := agent.State{Phase: agent.PhaseFailed, Outcome: &agent.Outcome{Kind: agent.ErrorHistoryLost}}
	var gone facts
	gone.lineage.Gone = true
	failure := v1beta1.RunError{Kind: v1beta1.ErrorInvalidSpec}
	for name, tc := range map[string]struct {
		facts   facts
		stop    stop
		verb    verb
		failure v1beta1.ErrorKind
	}{
		"a new task":      {facts: facts{Run: agentTask(plainTask)}, verb: begin},
		"a new tool run":  {facts: facts{Run: toolTask(plainTask)}, verb: begin},
		"a new sub-agent": {facts: facts{Run: subAgent(plainSub)}, verb: begin},
		"a held task": {facts: facts{Run: agentTask(func(o *v1beta1.AgentTask) {
			o.Finalizers, o.Annotations = []string{v1beta1.FinalizerFiring}, map[string]string{v1beta1.AnnotationFiring: "trigger/1"}
			o.OwnerReferences = []metav1.OwnerReference{{UID: "trigger", Controller: new(true)}}
		})}, verb: rest},

		"a tool run while the ledger is down":    {facts: facts{Run: toolTask(plainTask), blocked: &ledger.Error{}}, verb: rest},
		"a sub-agent while the ledger is down":   {facts: facts{Run: subAgent(plainSub), blocked: &ledger.Error{}}, verb: rest},
		"a deleted owner of a task":              {facts: facts{Run: agentTask(plainTask), lineage: gone.lineage}, verb: fail, failure: v1beta1.ErrorCancelled},
		"a deleted owner of a sub-agent":         {facts: facts{Run: subAgent(plainSub), lineage: gone.lineage}, verb: fail, failure: v1beta1.ErrorCancelled},
		"a lost tool run":                        {facts: facts{Run: toolTask(func(o *v1beta1.AgentTask) { o.Status.StartTime = &atNoon })}, verb: fail, failure: v1beta1.ErrorHistoryLost},
		"a lost sub-agent":                       {facts: facts{Run: subAgent(func(o *v1beta1.SubAgent) { o.Status.StartTime = &atNoon })}, verb: fail, failure: v1beta1.ErrorHistoryLost},
		"a sub-agent that ended and was pruned":  {facts: facts{Run: subAgent(endedSub), lineage: gone.lineage}, verb: rest},
		"a sub-agent that ended before its loss": {facts: facts{Run: subAgent(endedSub), started: true, state: lost}, verb: rest},
		"a task whose sub-agent was deleted":     {facts: facts{Run: agentTask(func(o *v1beta1.AgentTask) { o.Status.SubAgent = "a" })}, verb: fail, failure: v1beta1.ErrorCancelled},

		"a task whose sub-agent waits": {facts: facts{Run: agentTask(plainTask), sub: &v1beta1.SubAgent{}}, verb: wait},
		"a cancelled task whose sub-agent waits": {facts: facts{Run: agentTask(cancelTask), sub: &v1beta1.SubAgent{}},
			stop: cancel, verb: wait},
		"a cancelled task whose sub-agent is cancelled": {facts: facts{Run: agentTask(cancelTask), sub: subAgent(cancelSub).SubAgent}, verb: wait},
		"a task whose sub-agent cannot start": {facts: facts{Run: agentTask(plainTask), sub: subAgent(func(o *v1beta1.SubAgent) { o.Status.Error = &failure }).SubAgent},
			verb: fail, failure: v1beta1.ErrorInvalidSpec},

		"a running task":            {facts: facts{Run: agentTask(plainTask), sub: &v1beta1.SubAgent{}, started: true, state: running}, verb: show},
		"a running sub-agent":       {facts: facts{Run: subAgent(plainSub), started: true, state: running}, verb: show},
		"a cancelled running task":  {facts: facts{Run: agentTask(cancelTask), sub: &v1beta1.SubAgent{}, started: true, state: running}, stop: cancel, verb: show},
		"a cancelled running tool":  {facts: facts{Run: toolTask(cancelTask), started: true, state: running}, stop: cancel, verb: show},
		"a cancelled sub-agent":     {facts: facts{Run: subAgent(cancelSub), started: true, state: running}, stop: cancel, verb: show},
		"a sub-agent that cancels":  {facts: facts{Run: subAgent(cancelSub), started: true, state: agent.State{Phase: agent.PhaseCancelling}}, verb: show},
		"an orphaned running agent": {facts: facts{Run: subAgent(cancelSub), lineage: gone.lineage, started: true, state: running}, stop: endDeleted, verb: show},
		"an orphan that has ended":  {facts: facts{Run: subAgent(plainSub), lineage: gone.lineage, started: true, state: ended}, verb: show},

		"a task before its sub-agent shows the end": {facts: facts{Run: agentTask(plainTask), sub: &v1beta1.SubAgent{}, started: true, state: ended}, verb: rest},
		"a task after its sub-agent shows the end":  {facts: facts{Run: agentTask(plainTask), sub: subAgent(endedSub).SubAgent, started: true, state: ended}, verb: show},
		"a task whose sub-agent is being deleted": {facts: facts{Run: agentTask(plainTask), sub: subAgent(func(o *v1beta1.SubAgent) { o.DeletionTimestamp = &atNoon }).SubAgent,
			started: true, state: ended}, verb: show},
		"a tool run that has ended": {facts: facts{Run: toolTask(plainTask), started: true, state: ended}, verb: show},
	} {
		got := judge(tc.facts)
		if got.stop != tc.stop || got.verb != tc.verb || got.failure.Kind != tc.failure {
			t.Errorf("%s: got %+v, want stop %d, verb %d and failure %q", name, got, tc.stop, tc.verb, tc.failure)
		}
	}
}

// A status that shows that an agent continues after an answer is written at once, even while many agents start.
func TestJudgeWrite(t *testing.T) {
	const active, waiting, asks = v1beta1.SubAgentActive, v1beta1.SubAgentWaitingForUser, v1beta1.SubAgentWaitingForApproval
	sub := func(phase v1beta1.SubAgentPhase, question string) projection.Run {
		return subAgent(func(o *v1beta1.SubAgent) {
			o.Status = v1beta1.SubAgentStatus{Phase: phase, Question: question, StartTime: &atNoon}
		})
	}
	task := func(phase v1beta1.TaskPhase, change func(*v1beta1.AgentTask)) projection.Run {
		return agentTask(func(o *v1beta1.AgentTask) {
			o.Status = v1beta1.AgentTaskStatus{Phase: phase, StartTime: &atNoon}
			change(o)
		})
	}
	plain := func(*v1beta1.AgentTask) {}
	asked := func(o *v1beta1.AgentTask) { o.Status.Waiting = &v1beta1.Waiting{Kind: v1beta1.WaitingQuestion} }
	interrupted := func(o *v1beta1.AgentTask) {
		o.Status.Conditions = []metav1.Condition{{Type: v1beta1.ConditionSucceeded, Reason: v1beta1.ReasonLedgerQuota}}
	}
	unstarted := agentTask(func(o *v1beta1.AgentTask) { o.Status.Phase = v1beta1.TaskPending })
	toPublish := agent.State{Config: agent.Config{Kind: agent.ToolRun, WaitForStartPublished: true}, Phase: agent.PhaseActing, Batch: []agent.BatchCall{{State: agent.CallHeld}}}
	for name, tc := range map[string]struct {
		before, next projection.Run
		state        agent.State
		write, later bool
	}{
		"a sub-agent starts":               {sub("", ""), sub(active, ""), agent.State{}, true, true},
		"a sub-agent continues":            {sub(active, ""), sub(active, ""), agent.State{}, true, true},
		"a sub-agent keeps its question":   {sub(waiting, ""), sub(waiting, ""), agent.State{}, true, true},
		"the agents below have ended":      {sub(v1beta1.SubAgentWaitingForSubAgents, ""), sub(active, ""), agent.State{}, true, true},
		"a sub-agent asks":                 {sub(active, ""), sub(waiting, "Which?"), agent.State{}, true, false},
		"a sub-agent asks again":           {sub(waiting, "Which?"), sub(waiting, "Why?"), agent.State{}, true, false},
		"a sub-agent asks for an approval": {sub(active, ""), sub(asks, ""), agent.State{}, true, false},
		"a sub-agent was answered":         {sub(waiting, ""), sub(active, ""), agent.State{}, true, false},
		"a call was approved":              {sub(asks, ""), sub(active, ""), agent.State{}, true, false},
		"a sub-agent ends":                 {sub(active, ""), sub(v1beta1.SubAgentCompleted, ""), agent.State{}, true, false},
		"a sub-agent waits for a role": {subAgent(func(*v1beta1.SubAgent) {}), subAgent(func(o *v1beta1.SubAgent) { o.Status.Phase = v1beta1.SubAgentPending }),
			agent.State{}, true, false},

		"a task starts":                        {unstarted, task(v1beta1.TaskRunning, plain), agent.State{}, true, true},
		"a tool waits for the published start": {unstarted, task(v1beta1.TaskRunning, plain), toPublish, true, false},
		"a task counts":                        {task(v1beta1.TaskRunning, plain), task(v1beta1.TaskRunning, func(o *v1beta1.AgentTask) { o.Status.Iterations = 5 }), agent.State{}, false, true},
		"a task was answered":                  {task(v1beta1.TaskWaiting, asked), task(v1beta1.TaskRunning, plain), agent.State{}, true, false},
		"a task asks":                          {task(v1beta1.TaskRunning, plain), task(v1beta1.TaskWaiting, asked), agent.State{}, true, false},
		"a task ends":                          {task(v1beta1.TaskRunning, plain), task(v1beta1.TaskSuccess, plain), agent.State{}, true, false},
		"a task waits for a role":              {agentTask(plain), unstarted, agent.State{}, true, false},
		"a task ends after an outage":          {task(v1beta1.TaskRunning, interrupted), task(v1beta1.TaskSuccess, plain), agent.State{}, true, true},
	} {
		write, later := judgeWrite(facts{Run: tc.next, before: tc.before, state: tc.state})
		if write != tc.write || later != tc.later {
			t.Errorf("%s: write %t, later %t", name, write, later)
		}
	}
}
