// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/nestor-dev/nestor/api/v1alpha1"
	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/controller/tree"
	"github.com/nestor-dev/nestor/internal/ledger"
)

// startChild makes sure that a child's task exists, unless somebody has deleted it. If its name, or that of its sub-agent, belongs to
// somebody else, the agent chooses another one.
func (r *Runner) startChild(ctx context.Context, owner Owner, child agent.ChildSpec) error {
	task, err := tree.ChildTask(ctx, owner.Object, child.Name, r.Cached)
	if err != nil || task != nil {
		return err
	}
	if deleted, err := r.isDeleted(ctx, owner, child.Name); err != nil || deleted {
		return err
	}
	task = taskOf(owner, child)
	if child.Tool == "" && r.Cached(ctx, client.ObjectKeyFromObject(task), &v1alpha1.SubAgent{}) == nil {
		return r.reportTakenName(ctx, owner, child.Name)
	}
	if task.Spec.ContinueFrom, err = r.continuedAgent(ctx, owner, child.ContinueFrom); err != nil {
		return err
	}
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
		// A quota is looked at before the name: the task may be there, unheard of by the cache, and be what filled the quota.
		if task, findErr := tree.ChildTask(ctx, owner.Object, child.Name, r.Live); findErr != nil || task != nil {
			return findErr
		}
		// The model asked for something that the API server does not take: that is its child's failure, not the operator's.
		return r.reportFailure(owner.Object.GetUID(), child.Name, agent.ErrorInvalidSpec, err.Error())
	}
	return fmt.Errorf("create task %s/%s: %w", task.Namespace, task.Name, err)
}

// reportTakenName tells an agent that somebody else has the name of its child, unless it is the child's task that the cache has not heard of.
func (r *Runner) reportTakenName(ctx context.Context, owner Owner, name string) error {
	task, err := tree.ChildTask(ctx, owner.Object, name, r.Live)
	if err != nil || task != nil {
		return err
	}
	uid := owner.Object.GetUID()
	return r.Engine.Deliver(string(uid), agent.NameTaken{Name: name, Suffix: tree.Suffix(uid, name)})
}

// continuedAgent is the sub-agent whose work a child goes on with. Agents know each other by the names of their tasks.
func (r *Runner) continuedAgent(ctx context.Context, owner Owner, name string) (string, error) {
	if name == "" {
		return "", nil
	}
	task, err := tree.ChildTask(ctx, owner.Object, name, r.Find)
	if err != nil || task == nil {
		return name, err
	}
	sub, err := r.FindSubAgent(ctx, task)
	if err != nil || sub == nil {
		return name, err
	}
	return sub.Name, nil
}

// isDeleted says whether a child had begun, so that its task must not be created again, and tells the agent if that task is gone: to
// delete work is to cancel it. The ledger knows, so this holds after a restart too.
func (r *Runner) isDeleted(ctx context.Context, owner Owner, name string) (bool, error) {
	begun, err := r.Engine.HasStarted(ctx, string(owner.Object.GetUID()), name)
	if err != nil || !begun {
		return false, err
	}
	task, err := tree.ChildTask(ctx, owner.Object, name, r.Find)
	if err != nil || task != nil {
		return true, err // another operator has just created it
	}
	return true, r.reportFailure(owner.Object.GetUID(), name, agent.ErrorCancelled, "its task was deleted")
}

// cancelChild makes sure that a child stops. If it has begun, the engine tells it, and its parent how it ended. Else its task is asked, so
// that it never begins, and one that does not exist has stopped already.
func (r *Runner) cancelChild(ctx context.Context, owner Owner, name string) error {
	parent := string(owner.Object.GetUID())
	if r.Engine.CancelChild(parent, owner.Object.GetName(), name) {
		return nil
	}
	if begun, err := r.Engine.HasStarted(ctx, parent, name); err != nil || begun {
		return err
	}
	task, err := tree.ChildTask(ctx, owner.Object, name, r.Find) // one that only the cache has not heard of would run on
	if err != nil {
		return err
	}
	if task == nil {
		return r.reportFailure(owner.Object.GetUID(), name, agent.ErrorCancelled, "cancelled before it began")
	}
	return r.Cancel(ctx, task, "its parent "+owner.Object.GetName())
}

// ReportFailure tells the agent that asked for a task that the task failed without an agent of its own, so that the engine has no end to
// report. It returns when the report is durable.
func (r *Runner) ReportFailure(ctx context.Context, task *v1alpha1.AgentTask, failure v1alpha1.RunError) error {
	parent := metav1.GetControllerOf(task)
	if parent == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, ledgerTimeout)
	defer cancel()
	err := r.Engine.Record(ctx, string(parent.UID), failedChild(task.Name, agent.ErrorKind(failure.Kind), failure.Message))
	if errors.Is(err, ledger.ErrNotFound) {
		return nil // it has not begun, or is forgotten
	}
	return err
}

func (r *Runner) reportFailure(parent types.UID, child string, kind agent.ErrorKind, message string) error {
	return r.Engine.Deliver(string(parent), failedChild(child, kind, message))
}

// failedChild reports a child that has no agent of its own, or none any more.
func failedChild(child string, kind agent.ErrorKind, message string) agent.ChildFinished {
	return agent.ChildFinished{Child: child, Outcome: agent.Outcome{Kind: kind, Error: message}}
}
