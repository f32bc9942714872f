// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agents

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/cluster"
	"github.com/nestor-dev/nestor/internal/engine"
	"github.com/nestor-dev/nestor/internal/projection"
)

// facts are what a reconcile has read, and the status that it computes from that.
type facts struct {
	// Run is the object. Its status is changed in place, and written by exit.
	projection.Run
	// before is the object as it was read.
	before  projection.Run
	lineage cluster.Lineage
	// sub is the sub-agent of a task, or nil; see findSubAgent.
	sub *v1beta1.SubAgent
	// uid is the engine UID of the work: that of the object, or of its sub-agent. It is empty without a sub-agent.
	uid     string
	state   agent.State
	started bool
	// blocked is why the ledger keeps the work from starting or continuing.
	blocked error
	work    projection.Work
	// asks are those of the agents below a task; the one that the task shows is the first.
	asks []engine.Ask
	now  agent.Time
	// unresolved reports that a reference is missing.
	unresolved bool
}

// delegates reports whether the work is that of another object: the sub-agent of a task.
func (f facts) delegates() bool { return f.Task != nil && f.Task.Spec.Type != v1beta1.TaskTool }

// gather reads what the judges need, once for each reconcile.
func (r *Reconciler) gather(ctx context.Context, object client.Object) (*facts, error) {
	f, err := r.gatherObjects(ctx, object)
	if err != nil || f.uid == "" {
		return f, err
	}
	if f.state, f.started, err = r.Runner.State(ctx, f.uid); err != nil {
		return f, err
	}
	if !f.state.Phase.Terminal() && (f.started || !f.delegates()) {
		f.blocked = r.Runner.Engine.Blocked(f.uid)
	}
	if f.started {
		f.work = r.Runner.Work(ctx, f.GetNamespace(), f.uid)
	}
	if f.started && f.Task != nil {
		f.asks = ShownFirst(r.Runner.Engine.AsksBelow(f.uid), f.Task.Status.Waiting)
	}
	return f, nil
}

// gatherObjects reads the objects around an object. The UID of the work is empty if nothing does the work.
func (r *Reconciler) gatherObjects(ctx context.Context, object client.Object) (*facts, error) {
	before, _ := object.DeepCopyObject().(client.Object)
	f := &facts{Run: runOf(object), before: runOf(before), now: Now()}
	if f.Task != nil && cluster.IsHeld(f.Task) {
		return f, nil
	}
	tree, err := r.Runner.Gather(ctx, object)
	if err != nil {
		return f, err
	}
	f.lineage = tree.Lineage(object)
	if !f.delegates() {
		f.uid = string(object.GetUID())
		return f, nil
	}
	if f.sub, err = r.findSubAgent(ctx, f); err == nil && f.sub != nil {
		f.uid = string(f.sub.UID)
	}
	return f, err
}

func runOf(object client.Object) projection.Run {
	if task, ok := object.(*v1beta1.AgentTask); ok {
		return projection.TaskRun(task)
	}
	sub, _ := object.(*v1beta1.SubAgent)
	return projection.SubAgentRun(sub)
}

// findSubAgent returns the sub-agent of a task, or nil. An absence is confirmed with the API server, unless it only
// leads to the creation of the sub-agent.
func (r *Reconciler) findSubAgent(ctx context.Context, f *facts) (*v1beta1.SubAgent, error) {
	if f.Task.Status.SubAgent != "" || f.lineage.Gone || f.Cancel {
		return r.Runner.FindSubAgent(ctx, f.Task)
	}
	return r.Runner.SubAgent(ctx, f.Task)
}
