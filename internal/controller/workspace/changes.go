// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nestor-dev/nestor/internal/cluster"
	"github.com/nestor-dev/nestor/internal/cluster/resolve"
	"github.com/nestor-dev/nestor/internal/tool/workspace/changes"
	"github.com/nestor-dev/nestor/internal/tool/workspace/pod"
)

// FindWorkspace returns the workspace of an AgentChat or AgentTask, or an error that wraps changes.ErrNoWorkspace.
func (w *Workspaces) FindWorkspace(ctx context.Context, kind, namespace, name string) (changes.Workspace, error) {
	object := cluster.NewObject(kind)
	err := w.Reader.Cached(ctx, types.NamespacedName{Namespace: namespace, Name: name}, object)
	if apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("%w: the %s does not exist", changes.ErrNoWorkspace, kind)
	}
	if err != nil {
		return nil, fmt.Errorf("get %s %s/%s: %w", kind, namespace, name, err)
	}
	location, err := w.Of(ctx, object)
	var missing *resolve.Missing
	if errors.As(err, &missing) {
		return nil, fmt.Errorf("%w: %s", changes.ErrNoWorkspace, missing.Message)
	}
	if err != nil {
		return nil, err
	}
	if location == nil {
		return nil, fmt.Errorf("%w: the %s has no spec.workspace", changes.ErrNoWorkspace, kind)
	}
	paths := agentPaths{w.Finder, *location}
	if location.Workspace.Directory != nil {
		return directoryWorkspace{directoryChanges{w.directories, *location}, paths}, nil
	}
	return podWorkspace{podChanges{w.pods, *location}, paths}, nil
}

// directoryChanges reads a directory of this machine, whether it is served or not.
type directoryChanges struct {
	directories *directories
	location    Location
}

func (d directoryChanges) Owner() string { return string(d.location.Owner.GetUID()) }

func (d directoryChanges) Source() string { return changes.SourceDirectory }

func (d directoryChanges) Changes(ctx context.Context) (*changes.Summary, error) {
	tree, err := d.directories.tree(d.location)
	if err != nil {
		return nil, err
	}
	summary, err := tree.Read(ctx)
	return &summary, err
}

func (d directoryChanges) Archive(ctx context.Context) ([]byte, bool, error) {
	tree, err := d.directories.tree(d.location)
	if err != nil {
		return nil, false, err
	}
	archive, err := tree.Archive(ctx)
	return archive, true, err
}

// tree returns the tree of a directory. Its state is in a directory that the commands of agents cannot write.
func (d *directories) tree(location Location) (*changes.Tree, error) {
	actual, err := d.resolve(location)
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	uid := location.Owner.GetUID()
	if tree, ok := d.trees[uid]; ok && tree.Root == actual {
		return tree, nil
	}
	d.forgetTree(uid)
	state, err := os.MkdirTemp(d.options.Scratch, "nestor-changes-")
	if err != nil {
		return nil, fmt.Errorf("create a directory for comparisons: %w", err)
	}
	d.trees[uid] = &changes.Tree{Root: actual, State: state, Against: changes.Head}
	return d.trees[uid], nil
}

// forgetTree removes the state of a tree. The caller holds the lock.
func (d *directories) forgetTree(uid types.UID) {
	if tree, ok := d.trees[uid]; ok {
		_ = os.RemoveAll(tree.State) // only copies of what is in the directory
		delete(d.trees, uid)
	}
}

// podChanges reads the workspace of a pod, if that runs. It never starts one.
type podChanges struct {
	pods     *pods
	location Location
}

func (p podChanges) Owner() string { return string(p.location.Owner.GetUID()) }

func (p podChanges) Source() string {
	switch {
	case p.location.Workspace.Git != nil:
		return changes.SourceGit
	case p.location.Workspace.EmptyDir != nil:
		return changes.SourceEmptyDir
	}
	return changes.SourceClaim
}

func (p podChanges) Changes(ctx context.Context) (*changes.Summary, error) {
	data, running, err := p.get(ctx, "changes")
	if err != nil || !running {
		return nil, err
	}
	var summary changes.Summary
	if err := json.Unmarshal(data, &summary); err != nil {
		return nil, fmt.Errorf("read the changes: %w", err)
	}
	// The pod is the agent's: its server's own limits are not relied on.
	summary.Files, summary.Diff = summary.Files[:min(len(summary.Files), changes.MaxFiles)], summary.Diff[:min(len(summary.Diff), changes.MaxDiff)]
	return &summary, nil
}

func (p podChanges) Archive(ctx context.Context) ([]byte, bool, error) {
	return p.get(ctx, "changes/archive")
}

// get sends a request to the pod, if there is one that is ready.
func (p podChanges) get(ctx context.Context, path string) (data []byte, running bool, err error) {
	spec, err := p.pods.spec(p.location)
	if err != nil {
		return nil, false, err
	}
	name := types.NamespacedName{Namespace: spec.Namespace, Name: spec.Name()}
	var current corev1.Pod
	err = p.pods.options.Client.Get(ctx, name, &current)
	if apierrors.IsNotFound(err) || (err == nil && (!owns(spec, &current) || !isReady(&current) || current.DeletionTimestamp != nil)) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("get pod %s: %w", name, err)
	}
	data, err = p.pods.request(ctx, spec, name, http.MethodGet, path, nil)
	if errors.Is(err, errNotRestored) {
		return nil, false, nil
	}
	return data, err == nil, err
}

// errNotRestored means that a pod serves nothing yet.
var errNotRestored = errors.New("the workspace's files have not been restored yet")

// maxResponse bounds what is read from a pod: the archive, or a summary whose text was escaped.
const maxResponse = max(changes.MaxArchive, 8*changes.MaxDiff) + 1<<20

// request sends a request beside MCP to the server of a pod.
func (p *pods) request(ctx context.Context, spec pod.Spec, name types.NamespacedName, method, path string, body []byte) ([]byte, error) {
	token, err := p.token(ctx, spec, name)
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, method, spec.URL()+path, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("ask the workspace: %w", err)
	}
	request.Header.Set("Authorization", "Bearer "+token)
	// A server of an agent's pod must not redirect the operator.
	httpClient := &http.Client{Transport: p.options.HTTP, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	response, err := httpClient.Do(request)
	if err != nil {
		return nil, fmt.Errorf("ask the workspace: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	data, err := io.ReadAll(io.LimitReader(response.Body, maxResponse+1))
	if err != nil {
		return nil, fmt.Errorf("ask the workspace: %w", err)
	}
	switch text := oneLine(strings.ToValidUTF8(string(data[:min(len(data), maxErrorText)]), "\uFFFD")); {
	case len(data) > maxResponse:
		return nil, errors.New("ask the workspace: the response is too long")
	case response.StatusCode < http.StatusMultipleChoices:
		return data, nil
	case response.StatusCode == http.StatusRequestEntityTooLarge:
		return nil, refused{changes.ErrTooLarge, text}
	case response.StatusCode == http.StatusUnprocessableEntity:
		return nil, refused{changes.ErrNoBase, text}
	case response.StatusCode == http.StatusServiceUnavailable:
		return nil, errNotRestored
	default:
		return nil, fmt.Errorf("the workspace's server answered %d: %s", response.StatusCode, text)
	}
}

const maxErrorText = 4 << 10

// refused is an error of package changes with the text of a workspace's server.
type refused struct {
	kind error
	text string
}

func (r refused) Error() string { return r.text }

func (r refused) Unwrap() error { return r.kind }
