// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Command gitserver serves a git repository in a test cluster: app.git, with one commit, to the user and the password in the environment variables
// GIT_USER and GIT_PASSWORD.
package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"time"

	"github.com/nestor-dev/nestor/test/gitserver"
)

// dir is a volume of the pod.
const dir = "/repositories"

const createRepository = `
[ ! -e app.git ] || exit 0
git init -q -b main /tmp/app
cd /tmp/app
echo one >f
git add f
git commit -q -m first
git clone -q --bare /tmp/app ` + dir + `/app.git
`

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "gitserver:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	create := exec.CommandContext(ctx, "bash", "-ec", createRepository)
	create.Dir = dir
	create.Env = append(os.Environ(), "HOME=/tmp", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com")
	if output, err := create.CombinedOutput(); err != nil {
		return fmt.Errorf("create the repository: %w: %s", err, output)
	}
	handler, err := gitserver.Handler(ctx, dir, os.Getenv("GIT_USER"), os.Getenv("GIT_PASSWORD"))
	if err != nil {
		return err
	}
	server := &http.Server{Addr: ":8080", Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	return server.ListenAndServe()
}
