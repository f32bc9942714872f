// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/nestor-dev/nestor/api/v1alpha1"
	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/ledger"
)

// startChild makes sure that a child's task exists, unless somebody has deleted it. If its name, or that of its sub-agent, belongs to
// somebody else, the agent chooses another one.
func (r *Runner) startChild(ctx context.Context, owner Owner, child agent.ChildSpec) error {
	task, err := childTask(ctx, owner.Object, child.Name, r.cached)
	if err != nil || task != nil {
		return err
	}
	if deleted, err := r.deleted(ctx, owner, child.Name); err != nil || deleted {
		return err
	}
	task = taskOf(owner, child)
	if child.Tool == "" && r.cached(ctx, client.ObjectKeyFromObject(task), &v1alpha1.SubAgent{}) == nil {
		return r.taken(ctx, owner, child.Name)
	}
	if task.Spec.ContinueFrom, err = r.continueFrom(ctx, owner, child.ContinueFrom); err != nil {
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
		return r.taken(ctx, owner, child.Name)
	case Refused(err):
		// A quota is looked at before the name: the task may be there, unheard of by the cache, and be what filled the quota.
		if task, findErr := childTask(ctx, owner.Object, child.Name, r.live); findErr != nil || task != nil {
			return findErr
		}
		// The model asked for something that the API server does not take: that is its child's failure, not the operator's.
		return r.Engine.Deliver(string(owner.Object.GetUID()), agent.ChildFinished{Child: child.Name,
			Outcome: agent.Outcome{Kind: agent.KindInvalidSpec, Error: err.Error()}})
	}
	return fmt.Errorf("create task %s/%s: %w", task.Namespace, task.Name, err)
}

// taken tells an agent that somebody else has the name of its child, unless it is the child's task that the cache has not heard of.
func (r *Runner) taken(ctx context.Context, owner Owner, name string) error {
	task, err := childTask(ctx, owner.Object, name, r.live)
	if err != nil || task != nil {
		return err
	}
	uid := owner.Object.GetUID()
	return r.Engine.Deliver(string(uid), agent.NameTaken{Name: name, Suffix: Suffix(uid, name)})
}

// continueFrom is the sub-agent whose work a child goes on with. Agents know each other by the names of their tasks.
func (r *Runner) continueFrom(ctx context.Context, owner Owner, name string) (string, error) {
	if name == "" {
		return "", nil
	}
	task, err := childTask(ctx, owner.Object, name, r.Find)
	if err != nil || task == nil {
		return name, err
	}
	sub, err := r.FindSubAgent(ctx, task)
	if err != nil || sub == nil {
		return name, err
	}
	return sub.Name, nil
}

// deleted says whether a child had begun, so that its task must not be created again, and tells the agent if that task is gone: to
// delete work is to cancel it. The ledger knows, so this holds after a restart too.
func (r *Runner) deleted(ctx context.Context, owner Owner, name string) (bool, error) {
	begun, err := r.hasBegun(ctx, owner, name)
	if err != nil || !begun {
		return false, err
	}
	task, err := childTask(ctx, owner.Object, name, r.Find)
	if err != nil || task != nil {
		return true, err // another operator has just created it
	}
	return true, r.Engine.Deliver(string(owner.Object.GetUID()), agent.ChildFinished{Child: name,
		Outcome: agent.Outcome{Kind: agent.KindCancelled, Error: "its task was deleted"}})
}

// hasBegun says whether the ledger knows a child. Its agent has the child's name; only if somebody else's agent has, or had, that name,
// it may have one with a suffix.
func (r *Runner) hasBegun(ctx context.Context, owner Owner, name string) (bool, error) {
	uid := string(owner.Object.GetUID())
	known, err := r.Ledger.Agents(ctx, ledger.AgentFilter{Scope: ledger.Scope{Namespace: owner.Object.GetNamespace()}, Name: name}, ledger.Page{})
	if err != nil {
		return false, fmt.Errorf("ask the ledger for %s: %w", name, err)
	}
	if len(known.Items) == 0 || slices.ContainsFunc(known.Items, func(a ledger.Agent) bool { return a.Parent == uid }) {
		return len(known.Items) > 0, nil
	}
	above, err := r.Engine.Lookup(ctx, uid)
	if err != nil {
		return false, fmt.Errorf("find the tree of %s: %w", name, err)
	}
	tree, page := ledger.AgentFilter{Scope: ledger.Scope{Root: above.Root}}, ledger.Page{Limit: ledger.MaxLimit}
	for {
		list, err := r.Ledger.Agents(ctx, tree, page)
		if err != nil {
			return false, fmt.Errorf("ask the ledger for the agents beside %s: %w", name, err)
		}
		if slices.ContainsFunc(list.Items, func(a ledger.Agent) bool { return a.Parent == uid && strings.HasPrefix(a.Name, name+"-") }) {
			return true, nil
		}
		if page.Cursor = list.Next; page.Cursor == "" {
			return false, nil
		}
	}
}

// cancelChild makes sure that a child's task is asked to stop. One that does not exist has stopped already.
func (r *Runner) cancelChild(ctx context.Context, owner Owner, name string) error {
	task, err := childTask(ctx, owner.Object, name, r.Find) // one that only the cache has not heard of would run on
	if err != nil {
		return err
	}
	if task == nil {
		return r.Engine.Deliver(string(owner.Object.GetUID()), agent.ChildFinished{Child: name,
			Outcome: agent.Outcome{Kind: agent.KindCancelled, Error: "cancelled before it began"}})
	}
	return r.Cancel(ctx, task, "its parent "+owner.Object.GetName())
}

// collect tells an agent of the children that have ended.
func (r *Runner) collect(ctx context.Context, owner Owner, s agent.State) error {
	for _, child := range s.Children.Live {
		if child.Outcome != nil {
			continue
		}
		fact, err := r.news(ctx, owner, child)
		if err != nil {
			return err
		}
		if fact == nil {
			continue
		}
		if err := r.Engine.Deliver(string(owner.Object.GetUID()), fact); err != nil {
			return err
		}
	}
	return nil
}

// news is what a parent should know of a child and does not, or nil. Mostly the engine has told it already.
func (r *Runner) news(ctx context.Context, owner Owner, child agent.Child) (agent.Fact, error) {
	task, err := childTask(ctx, owner.Object, child.Name, r.cached)
	if err != nil || task == nil {
		return nil, err
	}
	state, begun, err := r.TaskState(ctx, task)
	switch {
	case err != nil:
		return nil, err
	case !begun && task.Status.Error != nil: // the engine does not know it, and its task says why
		failure := task.Status.Error
		return agent.ChildFinished{Child: child.Name, Outcome: agent.Outcome{Kind: agent.ErrorKind(failure.Kind), Error: failure.Message}}, nil
	case !begun:
		return nil, nil
	case state.Phase.Terminal():
		return agent.ChildFinished{Child: child.Name, Outcome: *state.Outcome, Usage: state.Usage}, nil
	case state.Suspended() != child.Waiting:
		return agent.ChildWaits{Child: child.Name, Waiting: state.Suspended()}, nil
	}
	return nil, nil
}
