// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/controller/workspace"
	"github.com/nestor-dev/nestor/internal/operator"
)

// createProject creates a git repository with one file, which is the workspace of a chat.
func createProject(ctx context.Context, dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("create the project: %w", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "greet.sh"), []byte("#!/bin/sh\n# Greets.\necho \"Hello, $1\"\n"), 0o600); err != nil {
		return fmt.Errorf("write the project: %w", err)
	}
	for _, args := range [][]string{{"init", "-q"}, {"add", "."}, {"-c", "user.name=test", "-c", "user.email=test@example.com", "commit", "-q", "-m", "Begin"}} {
		command := exec.CommandContext(ctx, "git", args...)
		command.Dir = dir
		if out, err := command.CombinedOutput(); err != nil {
			return fmt.Errorf("git %s: %w: %s", args[0], err, out)
		}
	}
	return nil
}

// workspaces reads the project for the history API, which stays while operators are restarted.
func (s *stack) workspaces() (*workspace.Workspaces, error) {
	api, err := client.New(s.cluster.Config, client.Options{Scheme: operator.NewScheme()})
	if err != nil {
		return nil, fmt.Errorf("connect to the cluster: %w", err)
	}
	return workspace.New(workspace.Options{Client: api, Live: api, LocalRoots: []string{s.project()}, Scratch: s.dir()})
}

// projectChat returns a chat whose agents work in the project.
func projectChat(namespace, dir string) client.Object {
	c := &v1beta1.AgentChat{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "project"}}
	c.Spec.Workspace = &v1beta1.Workspace{Directory: &v1beta1.DirectorySource{Path: dir}}
	return c
}

// builder returns a role that changes files, each change with an approval.
func builder(namespace string) client.Object {
	r := &v1beta1.AgentRole{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "builder"}}
	r.Spec = v1beta1.AgentRoleSpec{
		DisplayName: "Builder", Icon: "🔨", Description: "Changes the files of a project.", SystemPrompt: "You change files.",
		Tools: &v1beta1.RoleTools{Allow: []string{"read", "write", "patch"}},
	}
	return r
}

// addIndex adds a tool that reports its progress and takes some seconds.
func addIndex(server *mcp.Server) {
	tool := &mcp.Tool{Name: "index", Description: "Make an index of all notes in the notebook.", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}}
	mcp.AddTool(server, tool, func(ctx context.Context, request *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		const notes = 10
		tick := time.NewTicker(800 * time.Millisecond)
		defer tick.Stop()
		for done := range notes {
			if token := request.Params.GetProgressToken(); token != nil {
				_ = request.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Progress: float64(done + 1), Total: notes, Message: "reading notes"})
			}
			select {
			case <-ctx.Done():
				return nil, nil, ctx.Err()
			case <-tick.C:
			}
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "10 notes"}}}, nil, nil
	})
}
