// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Command nestor-scripted-model serves the scripted model: an OpenAI-compatible endpoint that plays YAML scripts.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/nestor-dev/nestor/internal/model/scripted"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "nestor-scripted-model: %v\n", err)
		os.Exit(1)
	}
}

// builtinPrefix marks the name of an embedded script.
const builtinPrefix = "builtin:"

// shutdownTimeout limits how long requests may take to end after a stop signal.
const shutdownTimeout = 2 * time.Second

type options struct {
	listen   string
	scripts  []string
	strict   bool
	noDelay  bool
	printURL bool
	list     bool
	record   int
}

func parseFlags(args []string, stderr io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("nestor-scripted-model", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&o.listen, "listen", "127.0.0.1:8089", "address to listen on; port 0 takes a free one")
	flags.Func("script", "file to play, or builtin:NAME; may be repeated, earlier ones take precedence (default: all built-in scripts, as in the demo)", func(s string) error {
		o.scripts = append(o.scripts, s)
		return nil
	})
	flags.BoolVar(&o.strict, "strict", true, "reject requests that the real API rejects")
	flags.BoolVar(&o.noDelay, "no-delay", false, "ignore the latencies in scripts")
	flags.BoolVar(&o.printURL, "print-url", false, "print only the base URL on standard output")
	flags.BoolVar(&o.list, "list", false, "list the built-in scripts and exit")
	flags.IntVar(&o.record, "record", scripted.DefaultRecordLimit, "number of requests to keep for GET /_scripted/requests; -1 keeps none")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if flags.NArg() > 0 {
		return o, fmt.Errorf("unexpected argument %q; give scripts with --script", flags.Arg(0))
	}
	return o, nil
}

func load(names []string) ([]*scripted.Script, error) {
	if len(names) == 0 {
		return scripted.Demo()
	}
	scripts := make([]*scripted.Script, 0, len(names))
	for _, name := range names {
		load := scripted.Load
		if builtin, ok := strings.CutPrefix(name, builtinPrefix); ok {
			name, load = builtin, scripted.Builtin
		}
		script, err := load(name)
		if err != nil {
			return nil, err
		}
		scripts = append(scripts, script)
	}
	return scripts, nil
}

// run serves until the context ends.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	o, err := parseFlags(args, stderr)
	if err != nil {
		return err
	}
	if o.list {
		fmt.Fprintln(stdout, strings.Join(scripted.BuiltinNames(), "\n"))
		return nil
	}
	scripts, err := load(o.scripts)
	if err != nil {
		return err
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", o.listen)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	base := "http://" + listener.Addr().String() + "/v1"
	if o.printURL {
		fmt.Fprintln(stdout, base)
	} else {
		fmt.Fprintf(stdout, "The scripted model plays %d scripts at %s\n", len(scripts), base)
	}
	return serve(ctx, listener, scripted.NewServer(scripted.Options{
		Scripts: scripts, Lenient: !o.strict, NoDelay: o.noDelay, RecordLimit: o.record,
	}))
}

// serve shuts down gracefully: replies in flight may finish, but one that hangs does not block the program.
func serve(ctx context.Context, listener net.Listener, handler http.Handler) error {
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	select {
	case err := <-failed:
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
	defer cancel()
	if err := server.Shutdown(ending); err != nil {
		return server.Close()
	}
	return nil
}
