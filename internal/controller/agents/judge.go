// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agents

import (
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/cluster"
	"github.com/nestor-dev/nestor/internal/controller/status"
)

// verdict is the decision about an object: stop is carried out first, then verb.
type verdict struct {
	stop stop
	verb verb
	// failure is why the work never starts, or is lost.
	failure v1beta1.RunError
}

type stop int

const (
	// cancel: spec.cancel is set.
	cancel stop = iota + 1
	// endDeleted: an owner was deleted. The garbage collector may run much later, or never.
	endDeleted
)

type verb int

const (
	// rest: nothing changes.
	rest verb = iota
	// begin: create the sub-agent of a task, or start the agent or tool run.
	begin
	// wait: show why the sub-agent of a task has not started.
	wait
	// show: apply and show the state.
	show
	// fail: show the failure.
	fail
)

// judge decides about an object that does not show its end, or about a sub-agent that does.
func judge(f facts) verdict {
	ended := *f.CompletionTime != nil
	switch {
	case f.Task != nil && cluster.IsHeld(f.Task):
		return verdict{} // it may be a duplicate; when its firing is confirmed, it is released
	case f.started && ended && f.state.Outcome != nil && f.state.Outcome.Kind == agent.ErrorHistoryLost:
		return verdict{} // the ledger no longer has the history, and the status stands
	case f.started:
		return judgeStarted(f)
	case ended:
		return verdict{} // the ledger may have pruned it
	case f.lineage.Gone:
		return failed(v1beta1.ErrorCancelled, f.either("The chat or agent that requested it was deleted.",
			"Its task, or an owner of the task, was deleted."))
	case f.sub != nil:
		return judgeSubAgent(f)
	case f.delegates() && f.Task.Status.SubAgent != "":
		return failed(v1beta1.ErrorCancelled, "Its sub-agent was deleted.") // deleting a sub-agent cancels it
	case f.blocked != nil:
		return verdict{} // it starts when the ledger is available
	case !f.delegates() && *f.StartTime != nil:
		return failed(v1beta1.ErrorHistoryLost, f.either(
			"The task had started, but the ledger has no events of it, so its tool may have run. "+
				"Check its effects, and create the task again if it must run.",
			"The agent had started, but the ledger has no events of it. Create the task again."))
	}
	return verdict{verb: begin}
}

// judgeStarted decides about an agent or tool run that has started. The end of a sub-agent is written before that of
// its task, so that a client that waits for the task finds both.
func judgeStarted(f facts) verdict {
	v := verdict{verb: show}
	switch {
	case f.state.Phase.Terminal():
		if f.sub != nil && f.sub.Status.CompletionTime == nil && f.sub.DeletionTimestamp.IsZero() {
			v.verb = rest
		}
	case f.state.Phase == agent.PhaseCancelling:
	case f.lineage.Gone:
		v.stop = endDeleted
	case f.Cancel && (f.sub == nil || !f.sub.Spec.Cancel):
		v.stop = cancel
	}
	return v
}

// judgeSubAgent decides about a task whose sub-agent has not started.
func judgeSubAgent(f facts) verdict {
	switch {
	case f.sub.Status.Error != nil:
		return verdict{verb: fail, failure: *f.sub.Status.Error}
	case f.Cancel && !f.sub.Spec.Cancel:
		return verdict{stop: cancel, verb: wait}
	}
	return verdict{verb: wait}
}

func failed(kind v1beta1.ErrorKind, message string) verdict {
	return verdict{verb: fail, failure: v1beta1.RunError{Kind: kind, Message: message}}
}

// either returns the text for a task, or that for a sub-agent.
func (f facts) either(task, sub string) string {
	if f.Task != nil {
		return task
	}
	return sub
}

// judgeWrite decides whether to write a status, and whether the write may be delayed because it only shows progress.
// Why a run has not started, the continuation after an answer, and the next question are written at once.
func judgeWrite(f facts) (write, later bool) {
	// An outage ends for all runs at the same time.
	interrupted := status.WasInterrupted(*f.before.Conditions, v1beta1.ConditionSucceeded)
	if f.Task == nil {
		before, next := f.before.SubAgent.Status, f.SubAgent.Status
		waited := before.Phase == v1beta1.SubAgentWaitingForUser || before.Phase == v1beta1.SubAgentWaitingForApproval
		progress := next.Phase == v1beta1.SubAgentActive && !waited
		if next.Phase == before.Phase {
			progress = next.Question == before.Question
		}
		return true, next.StartTime != nil && (progress || interrupted)
	}
	// Counters that grow during the run are in the sub-agent's status; the task gets them when its phase changes, so a
	// task that ends within a second is written once.
	before, next := f.before.Task.Status, f.Task.Status
	write = next.Phase != before.Phase || next.SubAgent != before.SubAgent ||
		!equality.Semantic.DeepEqual(before.Waiting, next.Waiting) ||
		!equality.Semantic.DeepEqual(before.Conditions, next.Conditions)
	progress := next.Phase == v1beta1.TaskRunning && before.Waiting == nil && !f.state.WaitsForStartPublished()
	return write, next.StartTime != nil && (progress || interrupted)
}
