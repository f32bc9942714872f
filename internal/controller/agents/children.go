// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agents

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/cluster"
	"github.com/nestor-dev/nestor/internal/ledger"
)

// startChild creates a child's task, unless it exists or was deleted. If the name of the task or of its sub-agent is
// taken, the agent chooses another one.
func (r *Runner) startChild(ctx context.Context, owner Owner, child agent.ChildSpec) error {
	task, err := cluster.ChildTask(ctx, owner.Object, child.Name, r.Cached)
	if err != nil || task != nil {
		return err
	}
	if deleted, err := r.isDeleted(ctx, owner, child.Name); err != nil || deleted {
		return err
	}
	task = taskOf(owner, child)
	if child.Tool == "" && r.Cached(ctx, client.ObjectKeyFromObject(task), &v1beta1.SubAgent{}) == nil {
		return r.reportTakenName(ctx, owner, child.Name)
	}
	if task.Spec.ContinueFrom, err = r.continuedAgent(ctx, owner, child.ContinueFrom); err != nil {
		return err
	}
	cluster.SetRoot(task, owner.Object)
	if err := controllerutil.SetControllerReference(owner.Object, task, r.Client.Scheme()); err != nil {
		return fmt.Errorf("own task %s/%s: %w", task.Namespace, task.Name, err)
	}
	err = r.Client.Create(ctx, task)
	switch {
	case err == nil:
		return nil
	case apierrors.IsAlreadyExists(err):
		return r.reportTakenName(ctx, owner, child.Name)
	case IsRefused(err):
		// The API server checks quotas before names: the task may already exist, missing from the cache, and be the object
		// that filled the quota.
		if task, findErr := cluster.ChildTask(ctx, owner.Object, child.Name, r.Live); findErr != nil || task != nil {
			return findErr
		}
		// The model asked for a child that the API server rejects: the child fails, not the operator.
		return r.reportFailure(ctx, owner.Object.GetUID(), child.Name, agent.ErrorInvalidSpec, err.Error())
	}
	return fmt.Errorf("create task %s/%s: %w", task.Namespace, task.Name, err)
}

// reportTakenName reports to an agent that the name of its child is taken, unless the object is the child's task and
// only missing from the cache.
func (r *Runner) reportTakenName(ctx context.Context, owner Owner, name string) error {
	task, err := cluster.ChildTask(ctx, owner.Object, name, r.Live)
	if err != nil || task != nil {
		return err
	}
	uid := owner.Object.GetUID()
	return r.Engine.Deliver(string(uid), agent.NameTaken{Name: name, Suffix: cluster.Suffix(uid, name)})
}

// continuedAgent returns the name of the sub-agent whose work a child continues. Agents refer to each other by the
// names of their tasks.
func (r *Runner) continuedAgent(ctx context.Context, owner Owner, name string) (string, error) {
	if name == "" {
		return "", nil
	}
	task, err := r.FindChildTask(ctx, owner.Object, name)
	if err != nil || task == nil {
		return name, err
	}
	sub, err := r.FindSubAgent(ctx, task)
	if err != nil || sub == nil {
		return name, err
	}
	return sub.Name, nil
}

// isDeleted reports whether a child had started, so that its task must not be created again. If the task no longer
// exists, isDeleted reports the child as cancelled: deleting a task cancels it. The answer comes from the ledger, so it
// is also right after a restart.
func (r *Runner) isDeleted(ctx context.Context, owner Owner, name string) (bool, error) {
	begun, err := r.Engine.HasStarted(ctx, string(owner.Object.GetUID()), name)
	if err != nil || !begun {
		return false, err
	}
	task, err := r.FindChildTask(ctx, owner.Object, name)
	if err != nil || task != nil {
		return true, err // another operator has just created it
	}
	return true, r.reportFailure(ctx, owner.Object.GetUID(), name, agent.ErrorCancelled, "its task was deleted")
}

// cancelChild stops a child. If the child has started, the engine cancels it and reports its outcome to the parent.
// Otherwise its task is cancelled and never starts; if there is no task, the child is reported as cancelled.
func (r *Runner) cancelChild(ctx context.Context, owner Owner, name string) error {
	parent := string(owner.Object.GetUID())
	if r.Engine.CancelChild(parent, owner.Object.GetName(), name) {
		return nil
	}
	if begun, err := r.Engine.HasStarted(ctx, parent, name); err != nil || begun {
		return err
	}
	task, err := r.FindChildTask(ctx, owner.Object, name) // a task that is only missing from the cache would continue to run
	if err != nil {
		return err
	}
	if task == nil {
		return r.reportFailure(ctx, owner.Object.GetUID(), name, agent.ErrorCancelled, "cancelled before it began")
	}
	return r.Cancel(ctx, task, "its parent "+owner.Object.GetName())
}

// ReportFailure reports a task that failed without an agent to the agent that asked for it; the engine has no outcome
// for such a task. It returns when the report is durable.
func (r *Runner) ReportFailure(ctx context.Context, task *v1beta1.AgentTask, failure v1beta1.RunError) error {
	parent := metav1.GetControllerOf(task)
	if parent == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, ledgerTimeout)
	defer cancel()
	failed := failedChild(task.Name, agent.ErrorKind(failure.Kind), failure.Message)
	if ended, err := r.Engine.EndIfDeleted(ctx, string(parent.UID), failed); err != nil || ended {
		return err
	}
	err := r.Engine.Record(ctx, string(parent.UID), failed)
	if errors.Is(err, ledger.ErrNotFound) {
		return nil // the agent has not started, or was pruned
	}
	return err
}

// reportFailure reports a child without an agent to its parent. A parent that was deleted ends instead: its child may
// have failed for that reason only.
func (r *Runner) reportFailure(ctx context.Context, parent types.UID, child string, kind agent.ErrorKind, message string) error {
	failed := failedChild(child, kind, message)
	if ended, err := r.Engine.EndIfDeleted(ctx, string(parent), failed); err != nil || ended {
		return err
	}
	return r.Engine.Deliver(string(parent), failed)
}

// failedChild returns the outcome of a child that has no agent, or no longer has one.
func failedChild(child string, kind agent.ErrorKind, message string) agent.ChildFinished {
	return agent.ChildFinished{Child: child, Outcome: agent.Outcome{Kind: kind, Error: message}}
}
