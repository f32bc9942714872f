// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package agents runs the agents of chats, tasks and sub-agents: it connects the states of the engine with Kubernetes
// objects. Runner contains what the controllers of these kinds share. Reconciler is the controller of tasks and
// sub-agents; each of its reconciles gathers facts, judges them, acts, and writes the status at one exit.
package agents

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/cluster"
	"github.com/nestor-dev/nestor/internal/cluster/resolve"
	"github.com/nestor-dev/nestor/internal/controller/agentconfig"
	"github.com/nestor-dev/nestor/internal/controller/status"
	"github.com/nestor-dev/nestor/internal/controller/workspace"
	"github.com/nestor-dev/nestor/internal/engine"
	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/projection"
	"github.com/nestor-dev/nestor/internal/quota"
)

// Runner connects objects with their agents.
type Runner struct {
	cluster.Reader
	Client client.Client
	Engine *engine.Router
	// Gate lets the controllers act on the trees that this operator owns.
	Gate   cluster.Gate
	Finder resolve.Finder
	Config *agentconfig.Resolver
	Status *status.Writer
	Ledger ledger.Histories
	// LedgerName is the name of the ledger in conditions.
	LedgerName string
	// MessageTaken is called with a message that a turn has taken and whose status does not show it.
	MessageTaken func(types.NamespacedName)
	// Settled reports whether the receivers of a task that has ended were notified. It is reconciled again when they
	// were.
	Settled func(*v1beta1.AgentTask) bool
	// Files gives the workspaces of forks the files of their runs.
	Files Files
}

// Files is implemented by workspace.Workspaces.
type Files interface {
	BeginFork(ctx context.Context, fork *v1beta1.AgentTask, top string, run workspace.RecordedRun) (workspace.ForkFiles, error)
}

// ledgerTimeout is how long a reconcile waits for the ledger.
const ledgerTimeout = 10 * time.Second

// Outage returns the ledger outage that blocks an object, and false for every other error. The message is the same for
// every attempt, so that an outage costs an object one write; the operator's log has the cause.
func (r *Runner) Outage(err error) (outage projection.Outage, ok bool) {
	var failure *ledger.Error
	if !errors.As(err, &failure) {
		return projection.Outage{}, false
	}
	if failure.Reason == ledger.ReasonQuota {
		return projection.Outage{Reason: v1beta1.ReasonLedgerQuota,
			Message: fmt.Sprintf("The namespace has filled its share of the ledger: %s. Nothing is lost.", failure.Reason.Advice())}, true
	}
	return projection.Outage{Reason: string(failure.Reason), Message: fmt.Sprintf("The ledger %s fails: %s. Nothing is lost.", r.LedgerName, failure.Reason.Advice())}, true
}

// State returns the state of an agent, if it has started.
func (r *Runner) State(ctx context.Context, uid string) (agent.State, bool, error) {
	ctx, cancel := context.WithTimeout(ctx, ledgerTimeout)
	defer cancel()
	state, err := r.Engine.View(ctx, uid)
	if errors.Is(err, ledger.ErrNotFound) {
		return agent.State{}, false, nil
	}
	return state, err == nil && state.Phase != agent.PhaseNew, err // a quarantined chat starts again
}

// Now returns the time for the statuses of objects whose agent has not started.
func Now() agent.Time { return agent.Time(time.Now().UnixMilli()) }

// Work returns the engine's information about an agent that is not in its state.
func (r *Runner) Work(ctx context.Context, namespace, uid string) projection.Work {
	work := projection.Work{Parked: r.Engine.Parked(uid)}
	if q, ok := r.Engine.WaitsForActiveQuota(ctx, namespace, uid); ok {
		work.Quota = quota.TooManyActive(q)
	}
	if q, ok := r.Engine.Queued(uid); ok {
		work.Queued = &projection.Queue{Provider: q.Provider, Since: agent.Time(q.Since.UnixMilli())}
	}
	work.Progress = r.Engine.Progress(uid)
	return work
}

// ShownFirst moves the ask that a standalone task shows in its status to the front of the asks below it. Agents record
// their asks independently, so that an older one can appear after a younger one; it must not replace what a person is
// about to answer.
func ShownFirst(asks []engine.Ask, shown *v1beta1.Waiting) []engine.Ask {
	if shown == nil {
		return asks
	}
	i := slices.IndexFunc(asks, func(a engine.Ask) bool {
		return a.Agent.Name == shown.SubAgent && a.Call == shown.ToolCall
	})
	if i < 0 {
		return asks // it was answered
	}
	return slices.Concat(asks[i:i+1], asks[:i], asks[i+1:])
}

// CancelledBy returns who cancelled a task or sub-agent. If spec.cancel was set directly, no name is recorded.
func CancelledBy(object client.Object) string {
	return cmp.Or(object.GetAnnotations()[v1beta1.AnnotationCancelledBy], "spec.cancel of the task")
}
