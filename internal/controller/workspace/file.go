// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nestor-dev/nestor/internal/cluster"
	"github.com/nestor-dev/nestor/internal/cluster/resolve"
	"github.com/nestor-dev/nestor/internal/tool/workspace/changes"
	"github.com/nestor-dev/nestor/internal/tool/workspace/files"
	"github.com/nestor-dev/nestor/internal/tool/workspace/fsroot"
)

type directoryWorkspace struct {
	directoryChanges
	agentPaths
}

type podWorkspace struct {
	podChanges
	agentPaths
}

// agentPaths resolves paths as the calls of agents do.
type agentPaths struct {
	finder   Finder
	location Location
}

func (a agentPaths) ResolvePath(ctx context.Context, agent changes.AgentRef, cwd, path string) (string, error) {
	if agent.Kind != "" {
		own, err := a.directoryOf(ctx, agent)
		if err != nil {
			return "", err
		}
		if cwd, err = joinCwd(own, cwd); err != nil {
			return "", files.Refuse(err.Error())
		}
	}
	return files.Resolve(cwd, path)
}

// directoryOf returns the directory of the workspace's agent. An agent of another workspace is refused: its directory
// would lead to another file.
func (a agentPaths) directoryOf(ctx context.Context, agent changes.AgentRef) (string, error) {
	object := cluster.NewObject(agent.Kind)
	if object == nil {
		return "", files.Refuse(fmt.Sprintf("a %s is not an agent", agent.Kind))
	}
	err := a.finder.Reader.Cached(ctx, types.NamespacedName{Namespace: a.location.Owner.GetNamespace(), Name: agent.Name}, object)
	if apierrors.IsNotFound(err) {
		return "", files.Refuse(fmt.Sprintf("the %s %s does not exist", agent.Kind, agent.Name))
	}
	if err != nil {
		return "", fmt.Errorf("get %s %s: %w", agent.Kind, agent.Name, err)
	}
	location, err := a.finder.Of(ctx, object)
	if err != nil && !errors.As(err, new(*resolve.Missing)) {
		return "", err
	}
	if location == nil || location.Owner.GetUID() != a.location.Owner.GetUID() {
		return "", files.Refuse(fmt.Sprintf("the %s %s does not work in this workspace", agent.Kind, agent.Name))
	}
	return location.Cwd, nil
}

func (d directoryWorkspace) File(_ context.Context, path string) (*files.File, error) {
	actual, err := d.directories.resolve(d.directoryChanges.location)
	if err != nil {
		return nil, err
	}
	root, err := fsroot.Open(actual)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	file, err := files.Read(root, "", path)
	return &file, err
}

// errStarting means that a pod may have the files but does not answer.
var errStarting = fmt.Errorf("%w: the workspace is starting or stopping", files.ErrUnavailable)

func (p podWorkspace) File(ctx context.Context, path string) (*files.File, error) {
	data, running, err := p.get(ctx, "file?"+url.Values{"path": {path}}.Encode())
	var answer refused
	switch {
	case errors.As(err, &answer) && errors.Is(answer.kind, changes.ErrNoBase):
		return nil, files.Refuse(answer.text)
	case err != nil:
		return nil, err
	case !running:
		return nil, p.absent(ctx)
	}
	var file files.File
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, fmt.Errorf("read the file: %w", err)
	}
	// The pod is the agent's: its server's own limits are not relied on.
	if len(file.Content) > files.MaxText {
		file.State, file.Content = files.TooLarge, ""
	}
	file.Path = path
	return &file, nil
}

// absent returns an error if there is a pod, which may have files that were not kept. The cache may not have it yet.
func (p podWorkspace) absent(ctx context.Context) error {
	spec, err := p.pods.spec(p.podChanges.location)
	if err != nil {
		return err
	}
	err = p.pods.options.Live.Get(ctx, types.NamespacedName{Namespace: spec.Namespace, Name: spec.Name()}, &corev1.Pod{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("get pod %s: %w", spec.Name(), err)
	}
	return errStarting
}
