// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agents

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/cluster"
	"github.com/nestor-dev/nestor/internal/controller/agentconfig"
	"github.com/nestor-dev/nestor/internal/controller/workspace"
	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/recording"
	"github.com/nestor-dev/nestor/internal/shard"
)

// The notes for the model of a fork whose calls are made.
const (
	textNoFiles  = "[This conversation continues a recorded run. Its files are not here: you have no workspace.]"
	textNewFiles = "[This conversation continues a recorded run in a new workspace. What earlier calls changed in files is not there.]"
	// textOldCommit and textOldFiles are for the files of the run; see noteOfFiles.
	textOldCommit = "[This conversation continues a recorded run in a new workspace. Its files are those of the commit %s, with which the run began. What earlier calls changed in files is not there.]"
	textOldFiles  = "[This conversation continues a recorded run in a new workspace. Its files are as they were at the end of that run.]"
	textLocal     = "[This conversation continues a recorded run. Its files are in a directory that others may have changed since.]"
)

// noteOfFiles returns the note about the files of a fork whose calls are made.
func noteOfFiles(task *v1beta1.AgentTask, files workspace.ForkFiles) string {
	switch {
	case task.Spec.Workspace == nil:
		return textNoFiles
	case files.Local:
		return textLocal
	case files.Changes:
		return textOldFiles
	case files.Commit != "":
		return fmt.Sprintf(textOldCommit, files.Commit)
	}
	return textNewFiles
}

// origin is the recorded run that a task forks.
type origin struct {
	record ledger.Agent
	run    *recording.Run
	point  agent.ForkPoint
	// config is its configuration at the point.
	config agent.Config
}

// findOrigin reads the run of a fork. The creator of the task may read its transcript, which the admission policy has
// checked by its name.
func (r *Reconciler) findOrigin(ctx context.Context, task *v1beta1.AgentTask) (origin, error) {
	fork := task.Spec.Fork
	never := func(format string, args ...any) error {
		return startErrorf(v1beta1.ErrorInvalidSpec, "spec.fork: "+format, args...)
	}
	ctx, cancel := context.WithTimeout(ctx, ledgerTimeout)
	defer cancel()
	record, err := r.Runner.Ledger.Agent(ctx, fork.UID)
	if errors.Is(err, ledger.ErrNotFound) {
		return origin{}, never("the ledger has no run with the UID %s. A run is deleted with its retention.", fork.UID)
	}
	if err != nil {
		return origin{}, err
	}
	namespace, err := r.Runner.Finder.NamespaceUID(ctx, task.Namespace, task.CreationTimestamp.Time)
	if err != nil {
		return origin{}, err
	}
	name := cmp.Or(fork.SubAgent, fork.Task)
	if record.Kind != "SubAgent" || record.Namespace != task.Namespace || record.NamespaceUID != namespace || record.Name != name {
		return origin{}, never("%s is not the UID of the run of the sub-agent %s in this namespace.", fork.UID, name)
	}
	o := origin{record: record}
	finder := agent.ForkFinder{Sequence: math.MaxInt64, Instruction: task.Spec.Instruction != ""}
	if fork.Sequence != nil {
		finder.Sequence = *fork.Sequence
	}
	if o.run, err = r.readRun(ctx, record); err != nil {
		return origin{}, err
	}
	for sequence := range o.run.Last() {
		finder.Add(sequence+1, o.run.State(sequence+1))
	}
	o.point = finder.Point
	o.config = o.point.State.Config
	if o.point.Sequence == 0 {
		started, ok := o.run.Events[0].Fact.(agent.Started)
		if !ok {
			return origin{}, never("the history of the run %s cannot be read.", name)
		}
		o.config = started.Config
	}
	if !o.config.MayFork() {
		return origin{}, never("runs of remote agents and of isolated roles cannot be forked.")
	}
	return o, nil
}

// readRun reads a run. It has at least one event.
func (r *Reconciler) readRun(ctx context.Context, record ledger.Agent) (*recording.Run, error) {
	run, err := r.Runner.Engine.ReadRun(ctx, record.UID, record.LastSeq)
	if err == nil && run.Last() == 0 {
		err = startErrorf(v1beta1.ErrorInvalidSpec, "spec.fork: the history of the run %s cannot be read.", record.Name)
	}
	return run, err
}

// assignFork returns the task of a fork with what its sub-agent shows of the run.
func (r *Reconciler) assignFork(ctx context.Context, task *v1beta1.AgentTask) (*v1beta1.AgentTask, error) {
	o, err := r.findOrigin(ctx, task)
	if err != nil {
		return nil, err
	}
	forked := task.DeepCopy()
	spec := &forked.Spec
	spec.Role = cmp.Or(spec.Role, o.config.Role.Name)
	if work := o.config.Task; spec.Instruction == "" {
		spec.Instruction = work.Instruction
		if len(work.Arguments) > 0 {
			spec.Arguments = &runtime.RawExtension{Raw: work.Arguments}
		}
	}
	if spec.Workspace != nil {
		spec.WorkingDir = o.config.Task.WorkingDir
	}
	if task.Spec.Role == "" && task.Spec.ModelProvider == "" {
		_, spec.ModelProvider, _ = strings.Cut(o.record.Provider, "/")
		spec.Model = cmp.Or(spec.Model, o.record.Model)
	}
	return forked, nil
}

// firstFact returns the record of an agent or tool run, and the fact that starts it.
func (r *Reconciler) firstFact(ctx context.Context, f *facts) (ledger.Agent, agent.Fact, error) {
	task, ok := f.lineage.Root.(*v1beta1.AgentTask)
	if !ok || f.SubAgent == nil || f.SubAgent.Spec.Depth > 1 || task.Spec.Fork == nil {
		return r.prepare(ctx, f)
	}
	return r.prepareFork(ctx, f, task)
}

func (r *Reconciler) prepareFork(ctx context.Context, f *facts, task *v1beta1.AgentTask) (ledger.Agent, agent.Fact, error) {
	o, err := r.findOrigin(ctx, task)
	if err == nil {
		err = r.Runner.Engine.LedgerFull(o.record.Namespace, o.record.NamespaceUID)
	}
	if err != nil {
		return ledger.Agent{}, nil, err
	}
	fork := agent.Fork{
		Origin: o.record.UID, Sequence: o.point.Sequence, End: o.run.Last(),
		Replies: agent.ReplySource(cmp.Or(task.Spec.Fork.ModelReplies, v1beta1.RepliesLive)),
		Results: agent.ResultSource(cmp.Or(task.Spec.Fork.ToolResults, v1beta1.ResultsRecorded)),
	}
	record := ledger.Agent{
		UID: f.uid, Kind: r.Tracker.Kind, Namespace: f.GetNamespace(), NamespaceUID: o.record.NamespaceUID, Name: f.GetName(), Root: f.uid,
		ShardHash: shard.Hash(string(cluster.RootUID(f.Object))), Role: o.config.Role.Name, RoleRevision: o.config.Role.Revision, Depth: int(f.SubAgent.Spec.Depth),
		Provider: o.record.Provider, Model: o.record.Model, CreatedAt: f.GetCreationTimestamp().Time, Origin: o.record.UID, OriginSeq: fork.Sequence,
	}
	changed := task.Spec.Role != "" || task.Spec.Model != "" || task.Spec.ModelProvider != ""
	config := o.config
	if changed {
		resolved, err := r.forkConfig(ctx, f, task, o)
		if err != nil {
			return record, nil, err
		}
		config = resolved.Config
		record.Role, record.RoleRevision, record.Provider, record.Model = config.Role.Name, config.Role.Revision, resolved.Provider, resolved.Model
	}
	if changed || task.Spec.Instruction != "" {
		fork.Replies = agent.RepliesLive
	}
	root, err := r.findRoot(ctx, o)
	if err != nil {
		return record, nil, err
	}
	requesters := root.requestersOfFork(task)
	files, err := r.filesOfFork(ctx, f, task, o, root)
	if err != nil {
		return record, nil, err
	}
	taskName := ""
	if f.SubAgent.Spec.Task != f.SubAgent.Name {
		taskName = f.SubAgent.Spec.Task
	}
	if fork.Sequence == 0 {
		first := o.run.Events[0].Fact.(agent.Started) // findOrigin has checked it
		config.Name, config.TaskName, config.Fork, config.Origin = f.GetName(), taskName, &fork, agent.Origin{}
		if task.Spec.Instruction != "" {
			config.Task.Instruction = task.Spec.Instruction
		}
		first.Config, first.Policed, first.Requesters = config, false, requesters
		first.Labels = slices.Concat(first.Labels, v1beta1.ContentNames(task.Spec.ContentLabels))
		return record, first, nil
	}
	forked := agent.Forked{
		Fork: fork, Name: f.GetName(), TaskName: taskName, Instruction: task.Spec.Instruction, Requesters: requesters,
		Labels: v1beta1.ContentNames(task.Spec.ContentLabels),
	}
	if changed {
		forked.Config = &config
	}
	if fork.Results != agent.ResultsRecorded {
		forked.Notes = []string{noteOfFiles(task, files)}
	}
	return record, forked, nil
}

// filesOfFork saves the files with which the workspace of a fork begins. They include the changes of the run if the
// fork begins at its end: no call, and no other agent in the workspace, has changed files after the place of the fork.
func (r *Reconciler) filesOfFork(ctx context.Context, f *facts, task *v1beta1.AgentTask, o origin, root rootOfRun) (workspace.ForkFiles, error) {
	if task.Spec.Workspace == nil || r.Runner.Files == nil {
		return workspace.ForkFiles{}, nil
	}
	run := workspace.RecordedRun{Agent: o.record.Root}
	if root.object != nil { // otherwise it was deleted
		run.Owner = root.object
	}
	if alone := o.record.Chat == "" && o.record.Root == o.record.UID; alone && !o.record.Live() && !callsFollow(o.run.Events[o.point.Sequence:]) {
		run.EndTime = o.record.FinishedAt
	}
	return r.Runner.Files.BeginFork(ctx, task, f.uid, run)
}

// callsFollow reports whether a call or a child has ended in events.
func callsFollow(events []agent.Event) bool {
	return slices.ContainsFunc(events, func(e agent.Event) bool {
		switch e.Fact.(type) {
		case agent.ToolFinished, agent.ChildFinished:
			return true
		}
		return false
	})
}

// forkConfig returns the configuration of a fork that replaces the role or the model: that of the record, with the
// prompt, the includes and the skills of the role, and with the model.
func (r *Reconciler) forkConfig(ctx context.Context, f *facts, task *v1beta1.AgentTask, o origin) (agentconfig.Resolved, error) {
	subject := subjectOf(f)
	subject.Revisions = forkRevisions(task)
	resolved, err := r.Runner.Config.Resolve(ctx, subject)
	if err != nil {
		return resolved, err
	}
	anew, config := resolved.Config, o.config
	if !anew.MayFork() {
		return resolved, startErrorf(v1beta1.ErrorInvalidSpec, "The role %s is remote or isolated, and a run cannot be forked with it.", f.SubAgent.Spec.Role)
	}
	if task.Spec.Role != "" {
		config = anew
		config.Task, config.ParentRole, config.Depth, config.MaxDepth = o.config.Task, o.config.ParentRole, o.config.Depth, o.config.MaxDepth
		if len(config.OutputSchema) == 0 {
			config.OutputSchema = o.config.OutputSchema
		}
	}
	config.Provider, config.Model, config.Price = anew.Provider, anew.Model, anew.Price
	config.Limits.ContextTokens, config.Limits.MaxOutputTokens = anew.Limits.ContextTokens, anew.Limits.MaxOutputTokens
	resolved.Config = config
	return resolved, nil
}

// rootOfRun is the chat or task at the top of a recorded run.
type rootOfRun struct {
	state agent.State
	found bool
	// object is nil if it was deleted.
	object client.Object
}

func (r *Reconciler) findRoot(ctx context.Context, o origin) (rootOfRun, error) {
	record, state, found := o.record, o.run.State(o.run.Last()), true
	var err error
	if record.Root != record.UID {
		state, found, err = r.recordedState(ctx, record.Root)
	}
	root := rootOfRun{state: state, found: found}
	if err != nil || !found {
		return root, err
	}
	if record.Chat != "" {
		var chat v1beta1.AgentChat
		err := r.Runner.Live(ctx, types.NamespacedName{Namespace: record.Namespace, Name: record.Chat}, &chat)
		if err == nil && string(chat.UID) == record.Root {
			root.object = &chat
		}
		return root, wrapGet(err, "chat", record)
	}
	var task v1beta1.AgentTask
	err = r.Runner.Live(ctx, types.NamespacedName{Namespace: record.Namespace, Name: state.Config.ChildName()}, &task)
	if err != nil {
		return root, wrapGet(err, "task", record)
	}
	uid, err := r.Runner.TaskUID(ctx, &task)
	if err == nil && uid == record.Root {
		root.object = &task
	}
	return root, err
}

// wrapGet describes the error of reading the root of a run; one that was deleted is none.
func wrapGet(err error, kind string, record ledger.Agent) error {
	if client.IgnoreNotFound(err) == nil {
		return nil
	}
	return fmt.Errorf("get the %s of the run %s/%s: %w", kind, record.Namespace, record.Name, err)
}

// requestersOfFork returns those who requested the run or the fork. Of a task that was deleted they are not known.
func (r rootOfRun) requestersOfFork(task *v1beta1.AgentTask) agent.Requesters {
	requesters := agent.Requesters{}.With(task.Spec.User).Merge(r.state.Requesters)
	if !r.found {
		requesters.Unknown = true
		return requesters
	}
	switch object := r.object.(type) {
	case *v1beta1.AgentTask:
		requesters = requesters.With(object.Spec.User)
		if object.Spec.FireUser != "" {
			requesters = requesters.With(object.Spec.FireUser)
		}
		requesters.Trigger = requesters.Trigger || object.Annotations[v1beta1.AnnotationFiring] != ""
	case nil:
		if r.state.Config.Kind == agent.SubAgent {
			requesters = requesters.With("")
		}
	}
	return requesters
}

// recordedState returns the state of an agent of any shard from its record.
func (r *Reconciler) recordedState(ctx context.Context, uid string) (agent.State, bool, error) {
	record, err := r.Runner.Ledger.Agent(ctx, uid)
	if errors.Is(err, ledger.ErrNotFound) {
		return agent.State{}, false, nil
	}
	if err != nil {
		return agent.State{}, false, err
	}
	run, err := r.readRun(ctx, record)
	if err != nil {
		return agent.State{}, false, err
	}
	return run.State(run.Last()), true, nil
}
