// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package gitclone

import (
	"bytes"
	"context"
	"os/exec"
	"strings"
)

// Connection runs git in a directory, with access to the server of a source and to its credentials. The directory must
// not contain a repository that anything else has written.
type Connection struct {
	git     repository
	cleanup func()
}

// Connect prepares git for the server of a source. Close removes the copy of the key.
func (s Source) Connect() (*Connection, error) {
	remote, err := s.validate()
	if err != nil {
		return nil, err
	}
	git, cleanup, err := s.prepare(remote)
	if err != nil {
		return nil, err
	}
	git.env = append(git.env, "GIT_ATTR_NOSYSTEM=1", "GIT_NO_REPLACE_OBJECTS=1")
	return &Connection{git, cleanup}, nil
}

// Close removes what git needed.
func (c *Connection) Close() { c.cleanup() }

// Run runs git with an input and more variables, and returns its output. The error has git's own message, without
// the output of the server if there are credentials.
func (c *Connection) Run(ctx context.Context, input []byte, variables []string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir, cmd.Env, cmd.Stdin = c.git.dir, append(c.git.env[:len(c.git.env):len(c.git.env)], variables...), bytes.NewReader(input)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return stdout.String(), c.git.explain(args, strings.TrimSpace(stderr.String()), err)
	}
	return stdout.String(), nil
}
