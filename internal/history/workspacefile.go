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
	"github.com/nestor-dev/nestor/internal/tool/workspace/files"
)

// workspaceFiles is the subresource workspacechanges/file: the current content of one file.
type workspaceFiles struct {
	storage
	changes *workspaceChanges
}

func (w *workspaceFiles) NewGetOptions() (runtime.Object, bool, string) {
	return &api.WorkspaceFileOptions{}, false, ""
}

// Get returns the file: of the running workspace, or for an emptyDir what the next start will restore.
func (w *workspaceFiles) Get(ctx context.Context, name string, options runtime.Object) (runtime.Object, error) {
	wanted, ok := options.(*api.WorkspaceFileOptions)
	if !ok {
		return nil, apierrors.NewInternalError(fmt.Errorf("options of type %T", options))
	}
	agent, err := agentRef(wanted.Agent)
	if err != nil {
		return nil, err
	}
	workspace, err := w.changes.find(ctx, name)
	if err != nil {
		return nil, err
	}
	path, err := workspace.ResolvePath(ctx, agent, wanted.WorkingDir, wanted.Path)
	if err != nil {
		return nil, fileError(err)
	}
	object := &api.WorkspaceFile{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: genericapirequest.NamespaceValue(ctx), UID: types.UID(workspace.Owner())},
		Path:       path,
	}
	file, err := workspace.File(ctx, path)
	switch {
	case errors.Is(err, files.ErrUnavailable):
		object.State, object.Message = api.FileUnavailable, err.Error()
		return object, nil
	case err != nil:
		return nil, fileError(err)
	case file == nil:
		return object, w.describeKept(ctx, object, workspace.Source())
	}
	now := metav1.Now()
	object.Live, object.ReadTime = true, &now
	object.State, object.Content = api.FileState(file.State), file.Content
	return object, nil
}

// describeKept fills in the file as the next start of a workspace without a pod will restore it.
func (w *workspaceFiles) describeKept(ctx context.Context, object *api.WorkspaceFile, source string) error {
	object.State, object.Message = api.FileUnavailable, "the workspace is not running"
	if source != changes.SourceEmptyDir {
		return nil // a patch or nothing was kept, which does not contain whole files
	}
	stored, err := w.changes.ledger.WorkspaceOf(ctx, string(object.UID))
	if err != nil && !errors.Is(err, ledger.ErrNotFound) {
		return statusError(err)
	}
	var summary changes.Summary
	if err == nil {
		if err := json.Unmarshal(stored.Summary, &summary); err != nil {
			return apierrors.NewInternalError(fmt.Errorf("read the saved changes: %w", err))
		}
		captured := metav1.NewTime(stored.CapturedAt)
		object.ReadTime = &captured
	}
	if len(stored.Archive) == 0 && summary.Message != "" {
		object.Message += ": " + summary.Message
		return nil
	}
	file, err := files.ReadTar(stored.Archive, "", object.Path)
	if err != nil {
		return fileError(err)
	}
	object.State, object.Content, object.Message = api.FileState(file.State), file.Content, ""
	return nil
}

func agentRef(name string) (changes.AgentRef, error) {
	if name == "" {
		return changes.AgentRef{}, nil
	}
	kind, object, uid, ok := api.ParseTranscriptName(name)
	if !ok || uid != "" {
		return changes.AgentRef{}, apierrors.NewBadRequest(fmt.Sprintf("agent must be subagent.NAME, task.NAME or chat.NAME, not %q", name))
	}
	return changes.AgentRef{Kind: kind, Name: object}, nil
}

// fileError converts an error of reading a file.
func fileError(err error) error {
	if errors.Is(err, files.ErrRefused) {
		return apierrors.NewBadRequest(err.Error())
	}
	return apierrors.NewServiceUnavailable("the file cannot be read from the workspace: " + err.Error())
}

// ResolvePath implements changes.Workspace. The agents of a deleted object are gone with their directories.
func (s stoppedWorkspace) ResolvePath(_ context.Context, agent changes.AgentRef, cwd, path string) (string, error) {
	if agent.Kind != "" {
		return "", files.Refuse(fmt.Sprintf("the %s %s does not work in this workspace", agent.Kind, agent.Name))
	}
	return files.Resolve(cwd, path)
}

func (s stoppedWorkspace) File(context.Context, string) (*files.File, error) { return nil, nil }
