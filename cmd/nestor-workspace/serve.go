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
	"github.com/nestor-dev/nestor/internal/tool/workspace/changes"
	"github.com/nestor-dev/nestor/internal/tool/workspace/shell"
	"github.com/nestor-dev/nestor/internal/version"
)

// shutdownTimeout is the grace period for calls at shutdown.
const shutdownTimeout = 5 * time.Second

type serveFlags struct {
	root, listen, tokenFile   string
	allowEnv, writable        string
	state, baseFile           string
	readOnly, noBash          bool
	emptyBase, waitForRestore bool
	limits                    workspace.Limits
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
	set.StringVar(&f.listen, "listen", "127.0.0.1:7410",
		"`address` to listen on; \":7410\" for all interfaces, port 0 for any free one")
	set.StringVar(&f.tokenFile, "token-file", "",
		"`file` with the bearer token that clients present (or set "+tokenVariable+")")
	set.BoolVar(&f.readOnly, "read-only", false, "offer only read-only tools: no write, patch and bash")
	set.BoolVar(&f.noBash, "no-bash", false, "do not offer bash")
	set.StringVar(&f.allowEnv, "allow-env", "",
		"comma-separated `names` of environment variables that bash receives besides PATH, HOME, LANG and TERM")
	set.StringVar(&f.writable, "bash-writable", "",
		"comma-separated `directories` that bash may change besides the root and its home (enforced on Linux 6.2 and later)")
	set.StringVar(&f.state, "state", "",
		"`directory` for the comparison of the files with their base, outside of what bash may change (default: a temporary one)")
	set.StringVar(&f.baseFile, "base-file", "",
		"`file` with the base commit of the changes (default: the checked-out commit)")
	set.BoolVar(&f.emptyBase, "empty-base", false, "report all files as changes, as the directory began empty")
	set.BoolVar(&f.waitForRestore, "await-restore", false,
		"serve no call before PUT /changes/archive; needs --state, which records it")
	set.Int64Var(&f.limits.FileBytes, "max-file-bytes", f.limits.FileBytes,
		"maximum size of a file for read, write and patch, in `bytes`")
	set.Int64Var(&f.limits.SearchFileBytes, "max-search-file-bytes", f.limits.SearchFileBytes,
		"maximum size of a file that is searched, in `bytes`")
	set.Int64Var(&f.limits.ImageBytes, "max-image-bytes", f.limits.ImageBytes,
		"maximum size of an image for read_image, in `bytes`")
	set.IntVar(&f.limits.OutputBytes, "max-output-bytes", f.limits.OutputBytes,
		"maximum length of an answer, in `bytes`")
	set.DurationVar(&f.limits.SearchTime, "search-timeout", f.limits.SearchTime, "maximum `duration` of a search")
	set.DurationVar(&f.limits.ShellTime, "bash-timeout", f.limits.ShellTime, "default time `limit` of a command")
	set.DurationVar(&f.limits.MaxShellTime, "max-bash-timeout", f.limits.MaxShellTime,
		"maximum time `limit` that a command may request")
	set.IntVar(&f.limits.ShellProcesses, "max-bash-processes", f.limits.ShellProcesses,
		"maximum `number` of processes and threads of a command (Linux); 0 means no limit")
	if err := set.Parse(args); err != nil {
		return f, err
	}
	if set.NArg() > 0 {
		return f, fmt.Errorf("unknown argument %q; see --help", set.Arg(0))
	}
	if f.waitForRestore && f.state == "" {
		return f, errors.New("--await-restore needs --state")
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
	tree, cleanupState, err := newTree(f)
	if err != nil {
		return err
	}
	defer cleanupState()
	log := slog.New(slog.NewJSONHandler(stderr, nil))
	w, err := workspace.New(workspace.Options{
		Root: f.root, Token: token, ReadOnly: f.readOnly, Shell: runner, Limits: f.limits, Version: version.String(),
		Logger: log, Changes: tree, Restored: f.restoredFile(),
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

// serveUntil serves until the context ends, then gives calls a grace period.
func serveUntil(ctx context.Context, listener net.Listener, handler http.Handler) error {
	server := &http.Server{Handler: endStreams(ctx, handler), ReadHeaderTimeout: 10 * time.Second}
	serveErr := make(chan error, 1)
	go func() { serveErr <- server.Serve(listener) }()
	select {
	case err := <-serveErr:
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	deadline, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
	defer cancel()
	if err := server.Shutdown(deadline); err != nil {
		return server.Close()
	}
	return nil
}

// endStreams ends the notification streams of clients, their only long GET requests, when the context ends. Nothing
// is lost with them, and calls, which are POST requests, may finish.
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

// restoredFile returns the path of the file that exists once the saved changes are restored. It is empty if calls do
// not wait for that.
func (f serveFlags) restoredFile() string {
	if !f.waitForRestore {
		return ""
	}
	return filepath.Join(f.state, "restored")
}

// newTree returns the tree that compares the files with their base, and a function that deletes its temporary state.
func newTree(f serveFlags) (tree *changes.Tree, cleanup func(), err error) {
	tree, cleanup = &changes.Tree{Root: f.root, State: f.state, Against: changes.Head}, func() {}
	switch {
	case f.emptyBase:
		tree.Against = changes.Nothing
	case f.baseFile != "":
		commit, err := os.ReadFile(f.baseFile)
		if err != nil {
			return nil, nil, fmt.Errorf("read the base: %w", err)
		}
		tree.Against, tree.Base = changes.Commit, strings.TrimSpace(string(commit))
	}
	if f.state != "" {
		return tree, cleanup, nil
	}
	if tree.State, err = os.MkdirTemp("", "nestor-state-"); err != nil {
		return nil, nil, fmt.Errorf("create a directory for comparisons: %w", err)
	}
	return tree, func() { _ = os.RemoveAll(tree.State) }, nil
}

// newRunner prepares bash. It gets a separate home directory, so that caches and settings do not end up in the
// workspace.
func newRunner(f serveFlags) (runner *shell.Runner, cleanup func(), err error) {
	if f.noBash || f.readOnly {
		return nil, func() {}, nil
	}
	program, err := os.Executable()
	if err != nil {
		return nil, nil, fmt.Errorf("find the executable: %w", err)
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
		Env:          shell.Environment(home, splitList(f.allowEnv)),
		Writable:     append([]string{root, home}, splitList(f.writable)...),
		MaxProcesses: f.limits.ShellProcesses,
		HeadBytes:    half,
		TailBytes:    half,
	}
	return runner, func() { _ = os.RemoveAll(home) }, nil
}

// splitList splits a flag's value at its commas.
func splitList(value string) []string {
	return strings.FieldsFunc(value, func(r rune) bool { return r == ',' })
}
