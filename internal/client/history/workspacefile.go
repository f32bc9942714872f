// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"context"
	"fmt"

	historyv1 "github.com/nestor-dev/nestor/api/history/v1beta1"
)

// WorkspaceFile returns the current content of one file of a workspace, given a name such as chat.NAME.
func (r *Reader) WorkspaceFile(
	ctx context.Context, name string, o historyv1.WorkspaceFileOptions,
) (*historyv1.WorkspaceFile, error) {
	c, err := rawClient{r}.client()
	if err != nil {
		return nil, err
	}
	request := c.Get().Namespace(r.namespace).Resource("workspacechanges").Name(name).SubResource("file").
		SetHeader("Accept", "application/json").Param("path", o.Path)
	if o.WorkingDir != "" {
		request = request.Param("workingDir", o.WorkingDir)
	}
	if o.Agent != "" {
		request = request.Param("agent", o.Agent)
	}
	response := request.Do(ctx)
	if err := response.Error(); err != nil { // unlike the error of Raw, it has the server's message
		return nil, classify("read the file", err)
	}
	data, err := response.Raw()
	if err != nil {
		return nil, fmt.Errorf("read the file: %w", err)
	}
	var file historyv1.WorkspaceFile
	if err := decode(data, &file); err != nil {
		return nil, fmt.Errorf("read the file: %w", err)
	}
	return &file, nil
}
