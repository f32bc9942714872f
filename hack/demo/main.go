// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Command demo runs a real Kubernetes API on this machine, the operator, a model and a sample project. It runs until
// Ctrl-C and leaves only its state behind.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/nestor-dev/nestor/internal/localmode"
	"github.com/nestor-dev/nestor/internal/tool/workspace/shell"
)

func main() {
	// The sample project's workspace runs this program to supervise a command; see package shell.
	if len(os.Args) > 2 && os.Args[1] == shell.SupervisorArgument {
		os.Exit(shell.Supervise(os.Args[2:], os.Stdin, os.Stdout, os.Stderr))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	context.AfterFunc(ctx, stop) // a second Ctrl-C exits at once; the control plane's guard cleans up
	if err := run(ctx, os.Getenv, os.Stdout); err != nil && ctx.Err() == nil {
		fmt.Fprintln(os.Stderr, "\ndemo:", err)
		os.Exit(1)
	}
}

// run runs the demo until ctx ends, a part fails, or the tour is over.
func run(ctx context.Context, env func(string) string, out io.Writer) error {
	script := env("DEMO_SCRIPT")
	if script != "" && script != "tour" {
		return fmt.Errorf("there is no DEMO_SCRIPT %q: use tour, or leave it out", script)
	}
	model, err := localmode.ModelFromEnvironment(env)
	if err != nil {
		return err
	}
	dir := env("DEMO_DIR")
	if dir == "" {
		dir = ".demo"
	}
	local, err := localmode.Start(ctx, localmode.Options{Dir: dir, Out: out, Model: model, ModelAddress: env("DEMO_MODEL_ADDRESS"), CLI: findCLI()})
	if err != nil {
		return err
	}
	if script == "tour" {
		err = local.Tour(ctx)
	} else {
		local.Say("ready")
		fmt.Fprint(out, local.WhatNext())
		go toggleOperator(ctx, os.Stdin, local)
		err = local.Wait(ctx)
	}
	if err != nil {
		local.Say("an error occurred; stopping")
	} else {
		local.Say("stopping; the state is kept in %s", local.Dir)
	}
	return errors.Join(err, local.Stop())
}

// toggleOperator stops and starts the operator whenever a person types o and Enter.
func toggleOperator(ctx context.Context, in io.Reader, local *localmode.Local) {
	for lines := bufio.NewScanner(in); lines.Scan(); {
		if strings.TrimSpace(lines.Text()) != "o" {
			continue
		}
		switch running, err := local.ToggleOperator(ctx); {
		case err != nil:
			local.Say("%s", err)
		case running:
			local.Say("the operator runs again")
		default:
			local.Say("the operator is stopped: agents wait, and nothing is lost; o and Enter start it again")
		}
	}
}

// findCLI returns the path of kubectl-nestor: beside this program, where make demo builds it, or in PATH. It is empty if there is none.
func findCLI() string {
	const name = "kubectl-nestor"
	if self, err := os.Executable(); err == nil {
		beside := filepath.Join(filepath.Dir(self), name)
		if info, err := os.Stat(beside); err == nil && info.Mode().IsRegular() {
			return beside
		}
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return ""
	}
	if path, err = filepath.Abs(path); err != nil {
		return ""
	}
	return path
}
