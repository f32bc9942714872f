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
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/nestor-dev/nestor/internal/tool/workspace"
	"github.com/nestor-dev/nestor/internal/tool/workspace/shell"
	"github.com/nestor-dev/nestor/internal/version"
)

// shutdownTime is how long calls may go on after the program was told to stop.
const shutdownTime = 5 * time.Second

// serveFlags are the flags of the server.
type serveFlags struct {
	root, listen, tokenFile string
	allowEnv, writable      string
	readOnly, noBash        bool
	limits                  workspace.Limits
}

func parseServeFlags(args []string, stdout io.Writer) (serveFlags, error) {
	f := serveFlags{limits: workspace.DefaultLimits()}
	set := flag.NewFlagSet("nestor-workspace", flag.ContinueOnError)
	set.SetOutput(stdout)
	set.Usage = func() {
		fmt.Fprint(stdout, usage, "\nFlags:\n")
		set.PrintDefaults()
	}
	set.StringVar(&f.root, "root", "", "`directory` to serve")
	set.StringVar(&f.listen, "listen", "127.0.0.1:7410", "`address` to listen on; \":7410\" for all interfaces, port 0 for any free one")
	set.StringVar(&f.tokenFile, "token-file", "", "`file` with the bearer token that clients present (or set "+tokenVariable+")")
	set.BoolVar(&f.readOnly, "read-only", false, "offer no tool that changes anything: no write, patch and bash")
	set.BoolVar(&f.noBash, "no-bash", false, "offer no bash")
	set.StringVar(&f.allowEnv, "allow-env", "", "`names` of environment variables, parted by commas, that bash may see beside PATH, HOME, LANG and TERM")
	set.StringVar(&f.writable, "bash-writable", "", "`directories`, parted by commas, that bash may change beside the root and its home (Linux 6.2 and later; elsewhere it may change all that you may)")
	set.Int64Var(&f.limits.FileBytes, "max-file-bytes", f.limits.FileBytes, "size of the largest file that read, write and patch handle, in `bytes`")
	set.Int64Var(&f.limits.SearchFileBytes, "max-search-file-bytes", f.limits.SearchFileBytes, "size above which searches pass over a file, in `bytes`")
	set.Int64Var(&f.limits.ImageBytes, "max-image-bytes", f.limits.ImageBytes, "size of the largest image that read_image returns, in `bytes`")
	set.IntVar(&f.limits.OutputBytes, "max-output-bytes", f.limits.OutputBytes, "length of the longest answer, in `bytes`")
	set.DurationVar(&f.limits.SearchTime, "search-timeout", f.limits.SearchTime, "longest `time` that a search takes")
	set.DurationVar(&f.limits.ShellTime, "bash-timeout", f.limits.ShellTime, "time `limit` of a command that asks for none")
	set.DurationVar(&f.limits.MaxShellTime, "max-bash-timeout", f.limits.MaxShellTime, "longest time `limit` that a command may ask for")
	set.IntVar(&f.limits.ShellProcesses, "max-bash-processes", f.limits.ShellProcesses, "`number` of processes and threads that a command may have at once (Linux); 0 is no limit")
	if err := set.Parse(args); err != nil {
		return f, err
	}
	if set.NArg() > 0 {
		return f, fmt.Errorf("unknown argument %q; see --help", set.Arg(0))
	}
	if f.root == "" {
		return f, errors.New("--root is missing; name the directory to serve")
	}
	return f, nil
}

func serve(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	f, err := parseServeFlags(args, stdout)
	if err != nil {
		return err
	}
	if err := hideMemory(); err != nil {
		return err
	}
	token, err := readToken(f.tokenFile)
	if err != nil {
		return err
	}
	runner, cleanup, err := newRunner(f)
	if err != nil {
		return err
	}
	defer cleanup()
	log := slog.New(slog.NewJSONHandler(stderr, nil))
	w, err := workspace.New(workspace.Options{
		Root: f.root, Token: token, ReadOnly: f.readOnly, Shell: runner, Limits: f.limits, Version: version.String(), Logger: log,
	})
	if err != nil {
		return err
	}
	defer w.Close()
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", f.listen)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	log.Info("Serving workspace", "root", f.root, "address", listener.Addr().String(), "version", version.String(),
		"readOnly", f.readOnly, "bash", runner != nil, "bashConfined", runner != nil && shell.CanConfine())
	return serveUntil(ctx, listener, w.Handler())
}

// serveUntil serves until the context ends, then lets calls finish for a while.
func serveUntil(ctx context.Context, listener net.Listener, handler http.Handler) error {
	server := &http.Server{Handler: endStreams(ctx, handler), ReadHeaderTimeout: 10 * time.Second}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	select {
	case err := <-failed:
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	deadline, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTime)
	defer cancel()
	if err := server.Shutdown(deadline); err != nil {
		return server.Close()
	}
	return nil
}

// endStreams ends the streams that clients hold open for notifications, which
// are their only GET requests of any length, when the context ends. Nothing is
// lost with them, and calls, which are POST requests, may finish.
func endStreams(ctx context.Context, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			stream, cancel := context.WithCancel(r.Context())
			defer cancel()
			defer context.AfterFunc(ctx, cancel)()
			r = r.WithContext(stream)
		}
		next.ServeHTTP(w, r)
	})
}

// newRunner prepares bash. Its home is a directory of its own, so that caches and
// settings do not end up among the workspace's files.
func newRunner(f serveFlags) (runner *shell.Runner, cleanup func(), err error) {
	if f.noBash || f.readOnly {
		return nil, func() {}, nil
	}
	program, err := os.Executable()
	if err != nil {
		return nil, nil, fmt.Errorf("find own program: %w", err)
	}
	// The supervisor does not run in the server's directory.
	root, err := filepath.Abs(f.root)
	if err != nil {
		return nil, nil, fmt.Errorf("find root: %w", err)
	}
	home, err := os.MkdirTemp("", "nestor-home-")
	if err != nil {
		return nil, nil, fmt.Errorf("create home directory for bash: %w", err)
	}
	half := f.limits.OutputBytes / 2
	runner = &shell.Runner{
		Program:      program,
		Env:          shell.Environment(home, list(f.allowEnv)),
		Writable:     append([]string{root, home}, list(f.writable)...),
		MaxProcesses: f.limits.ShellProcesses,
		HeadBytes:    half,
		TailBytes:    half,
	}
	return runner, func() { _ = os.RemoveAll(home) }, nil
}

// list splits a flag's value at its commas.
func list(value string) []string {
	return strings.FieldsFunc(value, func(r rune) bool { return r == ',' })
}
