// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agents

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/agent"
)

// Owner is the object of an agent. It owns the objects that are created for the agent.
type Owner struct {
	Object client.Object
	// Chat is the name of the chat, empty for a standalone task. Parent is the name of the sub-agent, empty for an
	// orchestrator.
	Chat, Parent string
}

// Apply creates, cancels and posts the Kubernetes objects that an agent's state asks for; the engine handles the
// effects on other agents. Apply is level-triggered: it may be called at any time, any number of times.
func (r *Runner) Apply(ctx context.Context, owner Owner, s agent.State) error {
	var errs []error
	var children errgroup.Group
	children.SetLimit(parallelChildren)
	posted := true
	for _, effect := range agent.Outstanding(s) {
		switch e := effect.(type) {
		case agent.StartChild:
			children.Go(func() error { return r.startChild(ctx, owner, e.Child) })
		case agent.CancelChild:
			children.Go(func() error { return r.cancelChild(ctx, owner, e.Child) })
		case agent.SendItem:
			if e.Item.Continues && !posted {
				continue // the parts of an answer are posted in order
			}
			sent, err := r.sendItem(ctx, owner, e.Item)
			errs = append(errs, err)
			if e.Item.Kind == agent.ItemPost {
				posted = sent
			}
		}
	}
	errs = append(errs, children.Wait())
	return errors.Join(errs...)
}

// parallelChildren is the number of an agent's children that are created or cancelled in parallel.
const parallelChildren = 16

func taskOf(owner Owner, child agent.ChildSpec) *v1beta1.AgentTask {
	labels := map[string]string{}
	if owner.Chat != "" {
		labels[v1beta1.LabelChat] = owner.Chat
	}
	if child.Role != "" {
		labels[v1beta1.LabelRole] = child.Role
	}
	if owner.Parent != "" {
		labels[v1beta1.LabelParent] = owner.Parent
	}
	task := &v1beta1.AgentTask{ObjectMeta: metav1.ObjectMeta{Namespace: owner.Object.GetNamespace(), Name: child.Name, Labels: labels}}
	task.Spec = v1beta1.AgentTaskSpec{
		Chat: owner.Chat, Type: v1beta1.TaskAgent, Role: child.Role, Instruction: child.Task, ContextFiles: child.ContextFiles,
		SuccessCriteria: child.SuccessCriteria, Context: v1beta1.ContextMode(child.Context), WorkingDir: child.WorkingDir, ContinueFrom: child.ContinueFrom,
		Group: groupName(child.Group),
	}
	if owner.Chat != "" {
		task.Spec.TriggerMessage = child.Trigger
		if child.PostsBefore > 0 {
			task.Annotations = map[string]string{v1beta1.AnnotationPostsBefore: strconv.Itoa(child.PostsBefore)}
		}
	}
	if child.Tool != "" {
		task.Spec.Type, task.Spec.Tool = v1beta1.TaskTool, child.Tool
	}
	if len(child.OutputSchema) > 0 {
		task.Spec.OutputSchema = &runtime.RawExtension{Raw: child.OutputSchema}
	}
	if len(child.Arguments) > 0 {
		task.Spec.Arguments = &runtime.RawExtension{Raw: child.Arguments}
	}
	return task
}

// groupName derives a name from a tool call's id.
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

// Cancel sets spec.cancel of a task and records who requested it.
func (r *Runner) Cancel(ctx context.Context, task *v1beta1.AgentTask, by string) error {
	if task.Spec.Cancel {
		return nil
	}
	task.Spec.Cancel = true
	metav1.SetMetaDataAnnotation(&task.ObjectMeta, v1beta1.AnnotationCancelledBy, by)
	if err := client.IgnoreNotFound(r.Client.Update(ctx, task)); err != nil {
		return fmt.Errorf("cancel task %s/%s: %w", task.Namespace, task.Name, err)
	}
	return nil
}
