// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/nestor-dev/nestor/api/v1alpha1"
	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/ledger"
)

// Owner is the object of an agent, to which everything belongs that the agent asks for.
type Owner struct {
	Object client.Object
	// Chat is the name of the chat, empty for a standalone task; Parent the sub-agent, empty for an orchestrator.
	Chat, Parent string
}

// Apply brings about what an agent's state wants of Kubernetes. It is level-triggered: it may be called at any time and as
// often as one likes.
func (r *Runner) Apply(ctx context.Context, owner Owner, s agent.State) error {
	var errs []error
	var children errgroup.Group
	children.SetLimit(parallelChildren)
	for _, effect := range agent.Outstanding(s) {
		switch e := effect.(type) {
		case agent.StartChild:
			children.Go(func() error { return r.startChild(ctx, owner, e.Child) })
		case agent.CancelChild:
			children.Go(func() error { return r.cancelChild(ctx, owner, e.Child) })
		case agent.AskPerson:
			errs = append(errs, r.ask(ctx, owner, s, e))
		case agent.Deliver:
			errs = append(errs, r.deliver(ctx, owner, e.Item))
		}
	}
	errs = append(errs, children.Wait(), r.collect(ctx, owner, s))
	return errors.Join(errs...)
}

// parallelChildren is how many children of an agent are created, or cancelled, at a time.
const parallelChildren = 16

// startChild makes sure that a child's task exists, unless somebody has deleted it.
func (r *Runner) startChild(ctx context.Context, owner Owner, child agent.ChildSpec) error {
	name := types.NamespacedName{Namespace: owner.Object.GetNamespace(), Name: child.Name}
	var existing v1alpha1.AgentTask
	err := r.Client.Get(ctx, name, &existing)
	if err == nil && !metav1.IsControlledBy(&existing, owner.Object) {
		return r.Engine.Deliver(string(owner.Object.GetUID()), agent.ChildFinished{Child: child.Name,
			Outcome: agent.Outcome{Kind: agent.KindInvalidSpec, Error: "another task has the name " + child.Name}})
	}
	if err == nil {
		return nil
	}
	if !apierrors.IsNotFound(err) {
		return fmt.Errorf("get task %s: %w", name, err)
	}
	if deleted, err := r.deleted(ctx, owner, child.Name); err != nil || deleted {
		return err
	}
	task := taskOf(owner, child)
	if err := controllerutil.SetControllerReference(owner.Object, task, r.Client.Scheme()); err != nil {
		return fmt.Errorf("own task %s: %w", name, err)
	}
	err = r.Client.Create(ctx, task)
	switch {
	case err == nil, apierrors.IsAlreadyExists(err):
		return nil
	case apierrors.IsInvalid(err):
		// The model asked for something that the API does not take: that is its child's failure, not the operator's.
		return r.Engine.Deliver(string(owner.Object.GetUID()), agent.ChildFinished{Child: child.Name,
			Outcome: agent.Outcome{Kind: agent.KindInvalidSpec, Error: err.Error()}})
	}
	return fmt.Errorf("create task %s: %w", name, err)
}

// deleted says whether a child had begun, so that its task must not be created again, and tells the agent if that task is gone: to
// delete work is to cancel it. The ledger knows, so this holds after a restart too.
func (r *Runner) deleted(ctx context.Context, owner Owner, name string) (bool, error) {
	known, err := r.Ledger.Agents(ctx, ledger.AgentFilter{Scope: ledger.Scope{Namespace: owner.Object.GetNamespace()}, Name: name}, ledger.Page{})
	if err != nil {
		return false, fmt.Errorf("ask the ledger for %s: %w", name, err)
	}
	uid := string(owner.Object.GetUID())
	if !slices.ContainsFunc(known.Items, func(a ledger.Agent) bool { return a.Parent == uid }) {
		return false, nil
	}
	err = r.Find(ctx, types.NamespacedName{Namespace: owner.Object.GetNamespace(), Name: name}, &v1alpha1.AgentTask{})
	if !apierrors.IsNotFound(err) {
		return true, err // another operator has just created it
	}
	return true, r.Engine.Deliver(uid, agent.ChildFinished{Child: name,
		Outcome: agent.Outcome{Kind: agent.KindCancelled, Error: "its task was deleted"}})
}

func taskOf(owner Owner, child agent.ChildSpec) *v1alpha1.AgentTask {
	labels := map[string]string{}
	if owner.Chat != "" {
		labels[v1alpha1.LabelChat] = owner.Chat
	}
	if child.Role != "" {
		labels[v1alpha1.LabelRole] = child.Role
	}
	if owner.Parent != "" {
		labels[v1alpha1.LabelParent] = owner.Parent
	}
	task := &v1alpha1.AgentTask{ObjectMeta: metav1.ObjectMeta{Namespace: owner.Object.GetNamespace(), Name: child.Name, Labels: labels}}
	task.Spec = v1alpha1.AgentTaskSpec{
		Chat: owner.Chat, Type: v1alpha1.TaskAgent, Role: child.Role, Instruction: child.Task, ContextFiles: child.ContextFiles,
		SuccessCriteria: child.SuccessCriteria, Context: v1alpha1.ContextMode(child.Context), Cwd: child.Cwd, ContinueFrom: child.ContinueFrom,
	}
	if owner.Chat != "" {
		task.Spec.TriggerMessage = child.Trigger
		task.Spec.Group = groupName(child.Group)
	}
	if child.Tool != "" {
		task.Spec.Type, task.Spec.Tool = v1alpha1.TaskTool, child.Tool
	}
	if len(child.Arguments) > 0 {
		task.Spec.Arguments = &runtime.RawExtension{Raw: child.Arguments}
	}
	return task
}

// groupName makes a name of a call's id.
func groupName(id string) string {
	name := strings.Trim(strings.Map(func(c rune) rune {
		switch {
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9':
			return c
		case c >= 'A' && c <= 'Z':
			return c - 'A' + 'a'
		}
		return '-'
	}, id), "-")
	return strings.Trim(name[:min(len(name), 63)], "-")
}

// cancelChild makes sure that a child's task is asked to stop. One that does not exist has stopped already.
func (r *Runner) cancelChild(ctx context.Context, owner Owner, name string) error {
	var task v1alpha1.AgentTask
	key := types.NamespacedName{Namespace: owner.Object.GetNamespace(), Name: name}
	err := r.Find(ctx, key, &task) // one that only the cache has not heard of would run on
	if apierrors.IsNotFound(err) {
		return r.Engine.Deliver(string(owner.Object.GetUID()), agent.ChildFinished{Child: name,
			Outcome: agent.Outcome{Kind: agent.KindCancelled, Error: "cancelled before it began"}})
	}
	if err != nil {
		return fmt.Errorf("get task %s: %w", name, err)
	}
	return r.Cancel(ctx, &task)
}

// Find reads an object. What the cache does not know is asked for at the API server: where "it is gone" has consequences, a cache
// that has not heard of an object yet must not be believed.
func (r *Runner) Find(ctx context.Context, name types.NamespacedName, object client.Object) error {
	err := r.Client.Get(ctx, name, object)
	if apierrors.IsNotFound(err) {
		return r.Finder.Live.Get(ctx, name, object)
	}
	return err
}

// Cancel asks a task to stop.
func (r *Runner) Cancel(ctx context.Context, task *v1alpha1.AgentTask) error {
	if task.Spec.Cancel {
		return nil
	}
	task.Spec.Cancel = true
	if err := client.IgnoreNotFound(r.Client.Update(ctx, task)); err != nil {
		return fmt.Errorf("cancel task %s/%s: %w", task.Namespace, task.Name, err)
	}
	return nil
}

// ask tells the chat's orchestrator that an agent needs a person. A standalone task shows it in its status.
func (r *Runner) ask(ctx context.Context, owner Owner, s agent.State, e agent.AskPerson) error {
	if owner.Chat == "" {
		return nil
	}
	uid, err := r.ChatUID(ctx, owner.Object.GetNamespace(), owner.Chat)
	if err != nil || uid == "" {
		return err
	}
	return r.Engine.Deliver(uid, agent.Asked{
		Agent: s.Config.Name, Task: s.Config.Name, Display: displayOf(s), Call: e.Call, Kind: e.Kind, Text: e.Text, Tool: e.Tool, Arguments: e.Arguments,
	})
}

// displayOf is whom people are told that asks: the role, or the tool of a task that is one call.
func displayOf(s agent.State) string {
	if s.Config.Kind == agent.ToolRun && s.Config.Call != nil {
		return s.Config.Call.Tool
	}
	return s.Config.Role.Display()
}

// ChatUID returns the UID of a chat, or nothing if there is none.
func (r *Runner) ChatUID(ctx context.Context, namespace, name string) (string, error) {
	var chat v1alpha1.AgentChat
	err := r.Find(ctx, types.NamespacedName{Namespace: namespace, Name: name}, &chat)
	if apierrors.IsNotFound(err) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("get chat %s/%s: %w", namespace, name, err)
	}
	return string(chat.UID), nil
}

// collect tells an agent of the children that have ended.
func (r *Runner) collect(ctx context.Context, owner Owner, s agent.State) error {
	for _, child := range s.Children.Live {
		if child.Outcome != nil {
			continue
		}
		fact, err := r.news(ctx, types.NamespacedName{Namespace: owner.Object.GetNamespace(), Name: child.Name}, child)
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
func (r *Runner) news(ctx context.Context, name types.NamespacedName, child agent.Child) (agent.Fact, error) {
	state, begun, err := r.TaskState(ctx, name)
	switch {
	case err != nil:
		return nil, err
	case !begun:
		return r.neverBegan(ctx, name)
	case state.Phase.Terminal():
		return agent.ChildFinished{Child: name.Name, Outcome: *state.Outcome, Usage: state.Usage}, nil
	case state.WaitsForPerson() != child.Waiting:
		return agent.ChildWaits{Child: name.Name, Waiting: state.WaitsForPerson()}, nil
	}
	return nil, nil
}

// neverBegan is the end of a child that the engine does not know: its task says why.
func (r *Runner) neverBegan(ctx context.Context, name types.NamespacedName) (agent.Fact, error) {
	var task v1alpha1.AgentTask
	if err := r.Client.Get(ctx, name, &task); err != nil || task.Status.Error == nil {
		return nil, client.IgnoreNotFound(err)
	}
	failure := task.Status.Error
	return agent.ChildFinished{Child: name.Name, Outcome: agent.Outcome{Kind: agent.ErrorKind(failure.Kind), Error: failure.Message}}, nil
}

// TaskState returns the state of the agent, or tool run, of a task, if it has begun and the cache has heard of it.
func (r *Runner) TaskState(ctx context.Context, name types.NamespacedName) (agent.State, bool, error) {
	uid, err := taskUID(ctx, name, r.cached)
	if err != nil || uid == "" {
		return agent.State{}, false, err
	}
	return r.State(ctx, uid)
}

// NewestTaskState is TaskState with what another operator may have recorded, and the API server has, since this one last looked. It is for
// those who would refuse or close something for good if there were nothing: after an outage the cache hears of one kind before another.
func (r *Runner) NewestTaskState(ctx context.Context, name types.NamespacedName) (agent.State, bool, error) {
	uid, err := r.TaskUID(ctx, name)
	if err != nil || uid == "" {
		return agent.State{}, false, err
	}
	if err := r.Engine.Refresh(ctx, uid); err != nil {
		return agent.State{}, false, err
	}
	return r.State(ctx, uid)
}

// TaskUID is under which UID the engine knows a task, and nothing if it has no agent. The API server is asked before it says so.
func (r *Runner) TaskUID(ctx context.Context, name types.NamespacedName) (string, error) {
	return taskUID(ctx, name, r.Find)
}

func (r *Runner) cached(ctx context.Context, name types.NamespacedName, object client.Object) error {
	return r.Client.Get(ctx, name, object)
}

// taskUID is the UID of a task's sub-agent, or its own if it is one tool call.
func taskUID(ctx context.Context, name types.NamespacedName, get func(context.Context, types.NamespacedName, client.Object) error) (string, error) {
	var task v1alpha1.AgentTask
	if err := get(ctx, name, &task); err != nil {
		return "", client.IgnoreNotFound(err)
	}
	if task.Spec.Type == v1alpha1.TaskTool {
		return string(task.UID), nil
	}
	var sub v1alpha1.SubAgent
	if err := get(ctx, name, &sub); err != nil {
		return "", client.IgnoreNotFound(err)
	}
	return string(sub.UID), nil
}

// State returns the state of an agent, if it has begun.
func (r *Runner) State(ctx context.Context, uid string) (agent.State, bool, error) {
	state, err := r.Engine.View(ctx, uid)
	if errors.Is(err, ledger.ErrNotFound) {
		return agent.State{}, false, nil
	}
	return state, err == nil, err
}
