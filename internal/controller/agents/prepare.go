// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agents

import (
	"context"
	"errors"
	"fmt"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/cluster"
	"github.com/nestor-dev/nestor/internal/controller/agentconfig"
	"github.com/nestor-dev/nestor/internal/controller/backend"
	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/shard"
)

// defaultRole is the role whose approval rules apply to the tool of a standalone task.
const defaultRole = "orchestrator"

// prepare resolves the references of an agent or tool run and its place in its tree, and returns its record and first
// event.
func (r *Reconciler) prepare(ctx context.Context, f *facts) (ledger.Agent, agent.Started, error) {
	if f.Task != nil && f.lineage.Chat == nil {
		err := r.Runner.Config.Tools.CheckUse(ctx, f.Task)
		if refused := (*backend.NotAllowed)(nil); errors.As(err, &refused) {
			err = startErrorf(v1beta1.ErrorInvalidSpec, "%s cannot be called: %s.", f.Task.Spec.Tool, refused)
		}
		if err != nil {
			return ledger.Agent{}, agent.Started{}, err
		}
	}
	pinned, err := r.pinnedRevisions(ctx, f.lineage)
	if err != nil {
		return ledger.Agent{}, agent.Started{}, err
	}
	subject := subjectOf(f)
	subject.Revisions = pinned
	resolved, err := r.Runner.Config.Resolve(ctx, subject)
	if err != nil {
		return ledger.Agent{}, agent.Started{}, err
	}
	record := ledger.Agent{UID: f.uid, Kind: r.Tracker.Kind, Namespace: subject.Namespace, NamespaceUID: resolved.NamespaceUID, Name: subject.Name,
		Root: f.uid, Chat: f.Chat, ShardHash: shard.Hash(string(cluster.RootUID(f.Object))), Role: subject.Role, RoleRevision: resolved.Role.Revision, Depth: subject.Depth,
		CreatedAt: f.GetCreationTimestamp().Time}
	started := agent.Started{Config: resolved.Config}
	parent, err := r.place(ctx, f.lineage, &record)
	if err != nil {
		return record, started, err
	}
	if f.Task != nil {
		started.Labels = append(parent.LabelsFor(f.Task.Name), v1beta1.ContentNames(f.Task.Spec.ContentLabels)...)
		setToolRun(&started.Config, f.Task, parent)
		return record, started, nil
	}
	started.Labels = append(parent.LabelsFor(f.SubAgent.Spec.Task), v1beta1.ContentNames(f.SubAgent.Spec.ContentLabels)...)
	record.Provider, record.Model = resolved.Provider, resolved.Model
	setAssignment(&started.Config, f.SubAgent, parent)
	started, err = r.continueFrom(ctx, f.SubAgent, record.Root, started)
	return record, started, err
}

// subjectOf returns what an agent or tool run is configured from.
func subjectOf(f *facts) agentconfig.Subject {
	subject := agentconfig.Subject{Object: f.Object, Namespace: f.GetNamespace(), Name: f.GetName()}
	if sub := f.SubAgent; sub != nil {
		subject.Kind, subject.Role, subject.Provider, subject.Model = agent.SubAgent, sub.Spec.Role, sub.Spec.ModelProvider, sub.Spec.Model
		subject.Depth, subject.MaxDepth = int(sub.Spec.Depth), int(sub.Spec.Limits.MaxDepth)
		subject.AgentLimits, subject.OutputSchema = &sub.Spec.Limits, sub.Spec.OutputSchema
		return subject
	}
	subject.Kind, subject.Role, subject.Tool, subject.TaskLimits = agent.ToolRun, defaultRole, f.Task.Spec.Tool, f.Task.Spec.Limits
	subject.Depth, subject.MaxDepth = 1, standaloneDepth
	if f.lineage.Chat != nil {
		subject.Role = f.lineage.Chat.Spec.Role
	}
	return subject
}

// place adds the parent and the root of its tree to the record of an agent, and returns the state of the parent.
func (r *Reconciler) place(ctx context.Context, lineage cluster.Lineage, record *ledger.Agent) (agent.State, error) {
	if lineage.Parent == nil {
		return agent.State{}, nil
	}
	record.Parent = string(lineage.Parent.GetUID())
	if lineage.Chat != nil {
		record.Root, record.ShardHash = string(lineage.Chat.UID), shard.Hash(string(lineage.Chat.UID))
	} else {
		above, err := r.Runner.Engine.Lookup(ctx, record.Parent)
		if err != nil {
			return agent.State{}, fmt.Errorf("find the root of %s/%s: %w", record.Namespace, record.Name, err)
		}
		record.Root, record.ShardHash = above.Root, above.ShardHash
	}
	state, _, err := r.Runner.State(ctx, record.Parent)
	return state, err
}

func setToolRun(config *agent.Config, task *v1beta1.AgentTask, parent agent.State) {
	config.Origin = parent.ChildOrigin(task.Name)
	config.ToolCall = &agent.ToolRunCall{Tool: task.Spec.Tool}
	if task.Spec.Arguments != nil {
		config.ToolCall.Arguments = task.Spec.Arguments.Raw
	}
	if task.Spec.Chat == "" {
		config.Role.Approval, config.Role.ApprovalTools = agent.ApproveNever, nil // creating the task is the approval of this call
		for i := range config.Tools {
			config.Tools[i].Approval = ""
		}
	}
	// A tool that must not run twice waits until the task's status shows the start: after a loss of the ledger there is no
	// other record. Other tasks, which may end within a second, are written once.
	config.WaitForStartPublished = !config.Repeatable(task.Spec.Tool)
}

func setAssignment(config *agent.Config, sub *v1beta1.SubAgent, parent agent.State) {
	config.Task = agent.Task{
		Instruction: sub.Spec.Instruction, ContextFiles: sub.Spec.ContextFiles, SuccessCriteria: sub.Spec.SuccessCriteria, WorkingDir: sub.Spec.WorkingDir,
		ContextMode: string(sub.Spec.Context), Context: parent.ContextFor(sub.Spec.Task, config.Limits.SharedContextTokens()),
	}
	if sub.Spec.Arguments != nil {
		config.Task.Arguments = sub.Spec.Arguments.Raw
	}
	var tools []agent.Tool
	config.Task.Inputs, tools = parent.InputsFor(sub.Spec.Task)
	if config.Isolated { // its model gets no tools
		config.Tools = tools
	}
	if sub.Spec.Task != sub.Name {
		config.TaskName = sub.Spec.Task
	}
	config.ParentRole, config.Origin = parent.Config.Role.Display(), parent.ChildOrigin(sub.Spec.Task)
	if parent.IsReviewer(sub.Spec.Task) {
		config.Review = nil // a reviewer is not reviewed itself
	}
}
