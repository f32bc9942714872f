// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"context"
	"fmt"
	"io"

	historyv1 "github.com/nestor-dev/nestor/api/history/v1beta1"
)

// WorkspaceChanges returns what was changed in a workspace, given a name such as chat.NAME.
func (r *Reader) WorkspaceChanges(ctx context.Context, name string) (*historyv1.WorkspaceChanges, error) {
	c, err := rawClient{r}.client()
	if err != nil {
		return nil, err
	}
	response := c.Get().Namespace(r.namespace).Resource("workspacechanges").Name(name).SetHeader("Accept", "application/json").Do(ctx)
	if err := response.Error(); err != nil { // unlike the error of Raw, it has the server's message
		return nil, classify("read the workspace", err)
	}
	data, err := response.Raw()
	if err != nil {
		return nil, fmt.Errorf("read the workspace: %w", err)
	}
	var changes historyv1.WorkspaceChanges
	if err := decode(data, &changes); err != nil {
		return nil, fmt.Errorf("read the workspace: %w", err)
	}
	return &changes, nil
}

// WorkspaceArchive returns all changes of a workspace: a patch, or a tar for emptyDir.
func (r *Reader) WorkspaceArchive(ctx context.Context, name string) (io.ReadCloser, error) {
	c, err := rawClient{r}.client()
	if err != nil {
		return nil, err
	}
	stream, err := c.Get().Namespace(r.namespace).Resource("workspacechanges").Name(name).SubResource("archive").Stream(ctx)
	if err != nil {
		return nil, classify("read the workspace", err)
	}
	return stream, nil
}
