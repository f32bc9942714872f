// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/nestor-dev/nestor/internal/tool/workspace/gitclone"
)

const cloneUsage = `nestor-workspace clone fills a directory from a git repository, once: a directory
that was cloned before is left unchanged.

  nestor-workspace clone --root DIR --url https://example.com/team/project.git --ref main

Credentials are files in a directory, named as in Kubernetes Secrets: username
and password (type basic-auth), or ssh-privatekey and known_hosts (ssh-auth).
Only the server of the URL gets them, and redirects are not followed.

Flags:
`

func clone(ctx context.Context, args []string, stdout io.Writer) error {
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find the executable: %w", err)
	}
	s := gitclone.Source{Program: program}
	set := flag.NewFlagSet("nestor-workspace clone", flag.ContinueOnError)
	set.SetOutput(stdout)
	set.Usage = func() {
		fmt.Fprint(stdout, cloneUsage)
		set.PrintDefaults()
	}
	set.StringVar(&s.Dir, "root", "", "`directory` to fill")
	set.StringVar(&s.URL, "url", "", "`URL` of the repository, without credentials")
	set.StringVar(&s.Ref, "ref", "", "`branch`, tag or commit (default: the repository's default branch)")
	set.IntVar(&s.Depth, "depth", 0, "`number` of commits of history (default: all)")
	set.StringVar(&s.Commit, "commit", "", "`commit` to check out instead of the ref's newest one")
	set.StringVar(&s.BaseFile, "base-file", "", "`file` that receives the hash of the checked-out commit")
	set.StringVar(&s.Credentials, "credentials", "", "`directory` with the files username and password, or ssh-privatekey and known_hosts")
	if err := set.Parse(args); err != nil {
		return err
	}
	if s.Dir == "" {
		return fmt.Errorf("--root is missing; name the directory to fill")
	}
	return gitclone.Clone(ctx, s)
}
