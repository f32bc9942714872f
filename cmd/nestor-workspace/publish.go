// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"

	"github.com/nestor-dev/nestor/internal/tool/workspace"
	"github.com/nestor-dev/nestor/internal/tool/workspace/gitpush"
	"github.com/nestor-dev/nestor/internal/version"
)

const publishUsage = `nestor-workspace publish serves the operator: it makes a commit of a patch and
pushes it to one branch of a git repository. Agents do not reach it.

  nestor-workspace publish --root DIR --url https://example.com/team/project.git --branch nestor/review --owner UID

Flags:
`

func publish(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find the executable: %w", err)
	}
	p := &gitpush.Publisher{}
	p.Source.Program = program
	var listen, tokenFile string
	set := flag.NewFlagSet("nestor-workspace publish", flag.ContinueOnError)
	set.SetOutput(stdout)
	set.Usage = func() {
		fmt.Fprint(stdout, publishUsage)
		set.PrintDefaults()
	}
	set.StringVar(&p.Source.Dir, "root", "", "`directory` for repositories")
	set.StringVar(&p.Source.URL, "url", "", "`URL` of the repository, without credentials")
	set.StringVar(&p.Source.Ref, "ref", "", "`branch`, tag or commit that the workspace was cloned from")
	set.StringVar(&p.Branch, "branch", "", "the only `branch` to push to")
	var allowed []string
	set.Func("allow-path", "`glob` of CI definitions or lists of reviewers that may be published; may be repeated", func(glob string) error {
		allowed = append(allowed, glob)
		return nil
	})
	set.StringVar(&p.Owner, "owner", "", "`UID` of the chat or task")
	set.StringVar(&p.Source.Credentials, "credentials", "", "`directory` with the files username and password, or ssh-privatekey and known_hosts")
	set.StringVar(&listen, "listen", "127.0.0.1:7410", "`address` to listen on")
	set.StringVar(&tokenFile, "token-file", "", "`file` with the bearer token that clients present (or set "+tokenVariable+")")
	if err := set.Parse(args); err != nil {
		return err
	}
	if p.Source.Dir == "" || p.Source.URL == "" || p.Owner == "" {
		return errors.New("--root, --url and --owner are required")
	}
	if !gitpush.IsBranch(p.Branch) {
		return fmt.Errorf("--branch %q is not a branch that may be pushed to: it must begin with nestor/", p.Branch)
	}
	if p.Allowed, err = gitpush.ParseAllowed(allowed); err != nil {
		return err
	}
	if err := hideMemory(); err != nil {
		return err
	}
	token, err := readToken(tokenFile)
	if err != nil {
		return err
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", listen)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	slog.New(slog.NewJSONHandler(stderr, nil)).Info("Publishing changes", "url", p.Source.URL, "branch", p.Branch, "address", listener.Addr().String(), "version", version.String())
	return serveUntil(ctx, listener, workspace.PublishHandler(token, p))
}
