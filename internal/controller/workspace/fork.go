// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/tool/workspace/changes"
)

// RecordedRun is the run whose files a fork begins with.
type RecordedRun struct {
	// Agent is the UID of the agent at the top of the run's tree.
	Agent string
	// Owner is the chat or task at the top of the tree; nil if it was deleted.
	Owner client.Object
	// EndTime is when the run ended, if the fork begins with the files of that time; zero if it begins with those of the
	// commit alone.
	EndTime time.Time
}

// ForkFiles describes the files with which the workspace of a fork begins.
type ForkFiles struct {
	// Commit is the commit with which the run began; empty if it is unknown, or if there was none.
	Commit string `json:"commit,omitempty"`
	// Changes reports that the files include what the run changed until its end.
	Changes bool `json:"changes,omitempty"`
	// Local reports that the fork uses a directory of the operator's machine as it is.
	Local bool `json:"local,omitempty"`
}

// BeginFork saves the files of a run for the workspace of its fork, which restores them when its pod starts, like its
// own. A repetition changes nothing. top is the UID of the fork's agent.
func (w *Workspaces) BeginFork(ctx context.Context, fork *v1beta1.AgentTask, top string, run RecordedRun) (ForkFiles, error) {
	location := locationOf(fork, "", fork.Spec.Workspace, "")
	switch {
	case location == nil:
		return ForkFiles{}, nil
	case location.Workspace.Directory != nil:
		return ForkFiles{Local: true}, nil
	}
	spec, err := w.pods.spec(*location)
	if err != nil {
		return ForkFiles{}, nil //nolint:nilerr // its first call returns the error
	}
	before, _, found, err := w.pods.keptOf(ctx, spec)
	if err != nil {
		return ForkFiles{}, err
	}
	if found && before.Fork != nil {
		return *before.Fork, nil
	}
	k, stored, err := w.filesOf(ctx, run)
	if err != nil || stored == nil || found || stored.Source != (podChanges{w.pods, *location}).Source() || k.URL != urlOf(*location) {
		return ForkFiles{}, err
	}
	files := ForkFiles{Commit: k.BaseCommit, Changes: !run.EndTime.IsZero() && !stored.CapturedAt.Before(run.EndTime) && !k.NotKept && !k.TooLarge}
	if !files.Changes {
		k.Summary, stored.Archive = changes.Summary{BaseCommit: k.BaseCommit}, nil
	}
	if files == (ForkFiles{}) {
		return files, nil
	}
	k.Fork, k.NotKept = &files, false
	stored.Owner, stored.Agent, stored.CapturedAt = string(fork.UID), top, w.options.Now()
	if stored.Summary, err = json.Marshal(k); err != nil {
		return files, fmt.Errorf("encode the files of a fork: %w", err)
	}
	if err := w.options.Ledger.KeepWorkspace(ctx, *stored); err != nil {
		return files, fmt.Errorf("keep the files of a fork: %w", err)
	}
	return files, nil
}

// filesOf returns the saved changes of a run, or those of its pod if they were not saved since its end; nil if neither
// is known.
func (w *Workspaces) filesOf(ctx context.Context, run RecordedRun) (kept, *ledger.Workspace, error) {
	if w.options.Ledger == nil {
		return kept{}, nil, nil
	}
	stored, err := w.options.Ledger.WorkspaceOfAgent(ctx, run.Agent)
	if err != nil && !errors.Is(err, ledger.ErrNotFound) {
		return kept{}, nil, fmt.Errorf("read the files of the run: %w", err)
	}
	var k kept
	if err == nil {
		if err := json.Unmarshal(stored.Summary, &k); err != nil {
			return kept{}, nil, fmt.Errorf("read the files of the run: %w", err)
		}
		if k.BaseCommit != "" && run.EndTime.IsZero() || !k.NotKept && !run.EndTime.IsZero() && !stored.CapturedAt.Before(run.EndTime) {
			return k, &stored, nil
		}
	}
	live, liveChanges, liveErr := w.liveFiles(ctx, run)
	switch {
	case liveErr != nil:
		return kept{}, nil, liveErr
	case liveChanges != nil:
		return live, liveChanges, nil
	case err == nil:
		return k, &stored, nil
	}
	return kept{}, nil, nil
}

// liveFiles reads the files of a run from its pod; nil without one.
func (w *Workspaces) liveFiles(ctx context.Context, run RecordedRun) (kept, *ledger.Workspace, error) {
	if run.Owner == nil {
		return kept{}, nil, nil
	}
	location, err := w.Of(ctx, run.Owner)
	if err != nil || location == nil || location.Workspace.Directory != nil || location.Workspace.PersistentVolumeClaim != nil {
		return kept{}, nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, keepTimeout)
	defer cancel()
	pod := podChanges{w.pods, *location}
	now := w.options.Now()
	summary, err := pod.Changes(ctx)
	if errors.Is(err, changes.ErrNoBase) || err == nil && summary == nil {
		return kept{}, nil, nil
	}
	if err != nil {
		return kept{}, nil, err
	}
	k, stored := kept{Summary: *summary, URL: urlOf(*location)}, &ledger.Workspace{Source: pod.Source(), CapturedAt: now}
	if run.EndTime.IsZero() {
		return k, stored, nil
	}
	var running bool
	stored.Archive, running, err = pod.Archive(ctx)
	switch {
	case errors.Is(err, changes.ErrTooLarge):
		k.TooLarge = true
	case err != nil:
		return kept{}, nil, err
	case !running:
		return kept{}, nil, errors.New("the workspace ended before its changes were read")
	}
	return k, stored, nil
}

// urlOf returns the repository of a workspace; empty for another source.
func urlOf(location Location) string {
	if location.Workspace.Git == nil {
		return ""
	}
	return location.Workspace.Git.URL
}
