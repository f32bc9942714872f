// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"

	api "github.com/nestor-dev/nestor/api/history/v1beta1"
	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/tool/workspace/changes"
)

// Workspaces reads running workspaces.
type Workspaces interface {
	// FindWorkspace returns the workspace of an AgentChat or AgentTask, or an error that wraps changes.ErrNoWorkspace.
	FindWorkspace(ctx context.Context, kind, namespace, name string) (changes.Workspace, error)
}

const changesHint = "the changes of a workspace are named chat.NAME or task.NAME, and those of a deleted chat chat.NAME.UID"

// workspaceChanges is the resource workspacechanges.
type workspaceChanges struct {
	namespaced
	workspaces  Workspaces
	ledger      ledger.Workspaces
	transcripts *transcripts
}

// Get returns the changes of a workspace: of the running one, or what was kept when it stopped.
func (w *workspaceChanges) Get(ctx context.Context, name string, _ *metav1.GetOptions) (runtime.Object, error) {
	workspace, err := w.find(ctx, name)
	if err != nil {
		return nil, err
	}
	object := &api.WorkspaceChanges{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: genericapirequest.NamespaceValue(ctx), UID: types.UID(workspace.Owner())},
		Source:     api.WorkspaceSource(workspace.Source()), Files: []api.ChangedFile{},
	}
	summary, err := workspace.Changes(ctx)
	switch {
	case errors.Is(err, changes.ErrNoBase):
		summary = &changes.Summary{Message: "The changes cannot be shown: " + err.Error() + "."}
	case err != nil:
		return nil, unreadable(err)
	case summary == nil:
		return object, w.describeKept(ctx, object)
	}
	now := metav1.Now()
	object.Live, object.CaptureTime = true, &now
	describeChanges(object, *summary)
	return object, nil
}

// describeKept fills in what was kept when the workspace stopped.
func (w *workspaceChanges) describeKept(ctx context.Context, object *api.WorkspaceChanges) error {
	stored, err := w.ledger.WorkspaceOf(ctx, string(object.UID))
	if errors.Is(err, ledger.ErrNotFound) {
		object.Message = "The workspace is not running, and nothing was kept."
		return nil
	}
	if err != nil {
		return statusError(err)
	}
	var summary changes.Summary
	if err := json.Unmarshal(stored.Summary, &summary); err != nil {
		return apierrors.NewInternalError(fmt.Errorf("read the saved changes: %w", err))
	}
	captured := metav1.NewTime(stored.CapturedAt)
	object.CaptureTime = &captured
	describeChanges(object, summary)
	return nil
}

func unreadable(err error) error {
	return apierrors.NewServiceUnavailable("the changes cannot be read from the workspace: " + err.Error())
}

func describeChanges(object *api.WorkspaceChanges, s changes.Summary) {
	object.BaseCommit, object.Digest, object.TooLarge, object.Message = s.BaseCommit, s.Digest, s.TooLarge, s.Message
	object.Diff, object.DiffTruncated = s.Diff, s.DiffTruncated
	for _, f := range s.Files {
		object.Files = append(object.Files, api.ChangedFile{
			Path: f.Path, Change: api.FileChange(f.Change), From: f.From, Binary: f.Binary, Additions: f.Additions, Deletions: f.Deletions,
		})
	}
}

// find returns the workspace of an object, or of a deleted one if something was kept.
func (w *workspaceChanges) find(ctx context.Context, name string) (changes.Workspace, error) {
	kind, object, uid, ok := api.ParseTranscriptName(name)
	if !ok || kind == "SubAgent" {
		return nil, notFound("workspacechanges", name, changesHint)
	}
	if w.workspaces == nil || uid != "" {
		return w.findKept(ctx, name, "it has no workspace, or nothing was kept")
	}
	workspace, err := w.workspaces.FindWorkspace(ctx, kind, genericapirequest.NamespaceValue(ctx), object)
	if errors.Is(err, changes.ErrNoWorkspace) {
		return w.findKept(ctx, name, err.Error())
	}
	if err != nil {
		return nil, statusError(err)
	}
	return workspace, nil
}

// findKept returns the workspace of a deleted object.
func (w *workspaceChanges) findKept(ctx context.Context, name, hint string) (changes.Workspace, error) {
	run, err := w.transcripts.find(ctx, genericapirequest.NamespaceValue(ctx), name)
	if apierrors.IsNotFound(err) {
		return nil, notFound("workspacechanges", name, hint)
	}
	if err != nil {
		return nil, err
	}
	stored, err := w.ledger.WorkspaceOf(ctx, run.UID)
	if errors.Is(err, ledger.ErrNotFound) {
		return nil, notFound("workspacechanges", name, hint)
	}
	if err != nil {
		return nil, statusError(err)
	}
	return stoppedWorkspace{stored}, nil
}

// stoppedWorkspace is a workspace that does not run.
type stoppedWorkspace struct{ ledger.Workspace }

func (s stoppedWorkspace) Owner() string { return s.Workspace.Owner }

func (s stoppedWorkspace) Source() string { return s.Workspace.Source }

func (s stoppedWorkspace) Changes(context.Context) (*changes.Summary, error) { return nil, nil }

func (s stoppedWorkspace) Archive(context.Context) ([]byte, bool, error) { return nil, false, nil }

// archives is the subresource workspacechanges/archive: all changes as a patch or a tar.
type archives struct {
	streamed
	changes *workspaceChanges
}

// The media types of archives.
const (
	patchType = "text/x-patch"
	tarType   = "application/x-tar"
)

func (a *archives) Get(ctx context.Context, name string, _ *metav1.GetOptions) (runtime.Object, error) {
	workspace, err := a.changes.find(ctx, name)
	if err != nil {
		return nil, err
	}
	data, running, err := workspace.Archive(ctx)
	switch {
	case errors.Is(err, changes.ErrTooLarge), errors.Is(err, changes.ErrNoBase):
		return nil, apierrors.NewConflict(resource("workspacechanges"), name, err)
	case err != nil:
		return nil, unreadable(err)
	}
	if !running {
		if data, err = a.changes.keptArchive(ctx, name, workspace.Owner()); err != nil {
			return nil, err
		}
	}
	return &content{data: data, mediaType: archiveType(api.WorkspaceSource(workspace.Source()))}, nil
}

// keptArchive returns the archive that was kept when a workspace stopped.
func (w *workspaceChanges) keptArchive(ctx context.Context, name, owner string) ([]byte, error) {
	stored, err := w.ledger.WorkspaceOf(ctx, owner)
	if errors.Is(err, ledger.ErrNotFound) {
		return nil, notFound("workspacechanges/archive", name, "the workspace is not running, and nothing was kept")
	}
	if err != nil {
		return nil, statusError(err)
	}
	var summary changes.Summary
	if err := json.Unmarshal(stored.Summary, &summary); err == nil && len(stored.Archive) == 0 && summary.Message != "" {
		return nil, apierrors.NewConflict(resource("workspacechanges"), name, errors.New(summary.Message))
	}
	return stored.Archive, nil
}

func archiveType(source api.WorkspaceSource) string {
	if source == api.WorkspaceEmptyDir {
		return tarType
	}
	return patchType
}

var workspaceChangesColumns = []string{"Name", "Source", "Files", "Added", "Deleted", "Live", "Captured", "+Base", "+Digest", "+Message"}

func workspaceChangesCells(o runtime.Object) []any {
	c := o.(*api.WorkspaceChanges)
	var added, deleted int64
	for _, f := range c.Files {
		if f.Additions != nil && f.Deletions != nil {
			added, deleted = added+*f.Additions, deleted+*f.Deletions
		}
	}
	captured := ""
	if c.CaptureTime != nil {
		captured = age(*c.CaptureTime)
	}
	return []any{c.Name, string(c.Source), len(c.Files), fmt.Sprintf("+%d", added), fmt.Sprintf("-%d", deleted), c.Live, captured, c.BaseCommit, c.Digest, firstLine(c.Message)}
}
