// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/cluster"
	"github.com/nestor-dev/nestor/internal/cluster/resolve"
	"github.com/nestor-dev/nestor/internal/ledger"
)

const defaultIdle = 15 * time.Minute

const defaultRetain = 24 * time.Hour

// Location is the workspace and the directory of an agent.
type Location struct {
	// Owner is the chat or standalone task of the workspace; Chat is its name if it is a chat.
	Owner client.Object
	Chat  string
	// Workspace is the owner's spec.workspace.
	Workspace v1beta1.Workspace
	// Cwd is the agent's directory in the workspace; empty means its root.
	Cwd string
}

func (p Location) idle() time.Duration {
	if seconds := p.Workspace.IdleTimeoutSeconds; seconds > 0 {
		return time.Duration(seconds) * time.Second
	}
	return defaultIdle
}

// retain returns how long the pod may be unused while work of its owner continues.
func (p Location) retain() time.Duration {
	retain := defaultRetain
	if seconds := p.Workspace.RetainSeconds; seconds != nil {
		retain = time.Duration(*seconds) * time.Second
	}
	return max(retain, p.idle())
}

// atWork reports whether the owner has work that is not finished, even if it waits.
func (p Location) atWork() bool {
	switch o := p.Owner.(type) {
	case *v1beta1.AgentChat:
		return o.Status.Phase == v1beta1.ChatRunning || o.Status.Phase == v1beta1.ChatWaiting
	case *v1beta1.AgentTask:
		return o.Status.Phase == v1beta1.TaskRunning || o.Status.Phase == v1beta1.TaskWaiting
	}
	return false
}

// pauses reports whether agents of the owner have stopped working, for now or finally, so that changes can be kept.
func (p Location) pauses() bool {
	switch o := p.Owner.(type) {
	case *v1beta1.AgentChat:
		return o.Status.Phase != v1beta1.ChatRunning
	case *v1beta1.AgentTask:
		return o.Status.Phase != v1beta1.TaskRunning
	}
	return false
}

// readOnly reports whether nothing in the workspace can be changed.
func (p Location) readOnly() bool {
	claim := p.Workspace.PersistentVolumeClaim
	return claim != nil && claim.ReadOnly
}

// Finder finds the locations of agents.
type Finder struct{ Reader cluster.Reader }

// Of returns the location of an AgentChat, an AgentTask or a SubAgent, or nil if it has no workspace.
func (f Finder) Of(ctx context.Context, object client.Object) (*Location, error) {
	switch o := object.(type) {
	case *v1beta1.AgentChat:
		return locationOf(o, o.Name, o.Spec.Workspace, ""), nil
	case *v1beta1.AgentTask:
		return f.find(ctx, o, o.Spec.Chat, o.Spec.WorkingDir)
	case *v1beta1.SubAgent:
		return f.find(ctx, o, o.Spec.Chat, o.Spec.WorkingDir)
	}
	return nil, fmt.Errorf("a %T has no workspace", object)
}

// OfAgent returns the location of a running agent, or nil if it has no workspace.
func (f Finder) OfAgent(ctx context.Context, a ledger.Agent) (*Location, error) {
	if a.Chat != "" {
		// Most chats have no workspace: check that before reading the agent.
		location, err := f.ofChat(ctx, a.Namespace, a.Chat, "")
		if err != nil || location == nil {
			return location, err
		}
		if string(location.Owner.GetUID()) != a.Root {
			return nil, fmt.Errorf("the chat %s was deleted, and its workspace with it", a.Chat)
		}
		if a.Kind == "AgentChat" {
			return location, nil
		}
	}
	object := cluster.NewObject(a.Kind)
	if err := f.Reader.Cached(ctx, types.NamespacedName{Namespace: a.Namespace, Name: a.Name}, object); err != nil {
		return nil, fmt.Errorf("get the agent %s/%s: %w", a.Namespace, a.Name, err)
	}
	if string(object.GetUID()) != a.UID {
		return nil, fmt.Errorf("the agent %s/%s was deleted", a.Namespace, a.Name)
	}
	return f.Of(ctx, object)
}

// find returns the workspace of the chat, or of the root of a standalone task.
func (f Finder) find(ctx context.Context, object client.Object, chat, cwd string) (*Location, error) {
	if chat != "" {
		return f.ofChat(ctx, object.GetNamespace(), chat, cwd)
	}
	tree, err := f.Reader.Gather(ctx, object)
	if err != nil {
		return nil, err
	}
	above := tree.Lineage(object)
	if above.Gone {
		return nil, fmt.Errorf("the owner of %s/%s was deleted", object.GetNamespace(), object.GetName())
	}
	task, ok := above.Root.(*v1beta1.AgentTask)
	if !ok || metav1.GetControllerOf(task) != nil {
		return nil, nil // a foreign object owns the task
	}
	return locationOf(task, "", task.Spec.Workspace, cwd), nil
}

func (f Finder) ofChat(ctx context.Context, namespace, name, cwd string) (*Location, error) {
	var chat v1beta1.AgentChat
	err := f.Reader.Cached(ctx, types.NamespacedName{Namespace: namespace, Name: name}, &chat)
	if apierrors.IsNotFound(err) {
		return nil, &resolve.Missing{Reason: v1beta1.ReasonChatNotFound, Message: fmt.Sprintf("The chat %q does not exist in the namespace %s.", name, namespace)}
	}
	if err != nil {
		return nil, fmt.Errorf("get chat %s/%s: %w", namespace, name, err)
	}
	return locationOf(&chat, chat.Name, chat.Spec.Workspace, cwd), nil
}

func locationOf(owner client.Object, chat string, spec *v1beta1.Workspace, cwd string) *Location {
	if spec == nil {
		return nil
	}
	return &Location{Owner: owner, Chat: chat, Workspace: *spec, Cwd: cwd}
}
