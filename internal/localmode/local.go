// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package localmode

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/internal/cli/terminal"
	"github.com/nestor-dev/nestor/internal/history"
	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/localcluster"
	"github.com/nestor-dev/nestor/internal/operator"
)

// Options configure a Local.
type Options struct {
	// Dir is the directory of the state.
	Dir string
	// Out receives progress messages for people.
	Out io.Writer
	// Model is the model of the agents; the zero value is the scripted model.
	Model Model
	// ModelAddress is the address of the scripted model; empty means a free port.
	ModelAddress string
	// CLI is the path of kubectl-nestor, which the commands for people use; empty if it was not built.
	CLI string
	// Assets is the directory with the control plane's binaries; empty means the default.
	Assets string
}

// Local is a running Nestor.
type Local struct {
	// Dir is the directory of the state, Log the log file of the parts, Sample the directory of the sample project.
	Dir, Log, Sample string
	// Kubeconfig and Kubectl give people access to the API server; Config and Client do the same for programs.
	Kubeconfig, Kubectl string
	Config              *rest.Config
	Client              client.Client

	options  Options
	out      io.Writer
	started  time.Time
	cluster  *localcluster.Cluster
	ledger   ledger.Ledger
	history  *history.Server
	gateway  net.Listener
	webhook  net.Listener
	modelURL string
	page     string // the link that signs in; empty without the page
	// intake is that of the newest operator.
	intake atomic.Pointer[operator.Intake]
	// pageListener is nil without the page.
	pageListener net.Listener
	fresh        bool // the chat has not been used yet
	log          *os.File
	failed       chan error
	broken       atomic.Bool
	stops        []func() error
	copying      sync.Mutex

	changing     sync.Mutex   // held while parts stop or start
	stopOperator func() error // nil while the operator is stopped
}

// step starts one part.
type step struct {
	doing string
	do    func(context.Context) error
}

// steps returns the parts in the order in which they start. Further parts for users start after the operator, and add their address to
// WhatNext.
func (l *Local) steps() []step {
	return []step{
		{"checking the state in " + l.Dir, l.openState},
		{"starting the model", l.startModel},
		{"starting the control plane: etcd, the API server, the garbage collector", l.startCluster},
		{"opening the ledger", l.openLedger},
		{"opening the port of the gateway", l.openGateway},
		{"opening the port of the web page", l.openPage},
		{"laying out the sample project", l.layOutSample},
		{"starting the operator", l.startOperator},
		{"registering the history API", l.registerHistory},
		{"creating a model provider, roles and a chat", l.furnish},
		{"registering the webhook", l.registerWebhook},
		{"serving the web page", l.servePage},
		{"writing the commands for your shell", l.writeCommands},
	}
}

// Start starts all parts. If one cannot be started, those before it are stopped again.
func Start(ctx context.Context, options Options) (*Local, error) {
	dir, err := filepath.Abs(options.Dir)
	if err != nil {
		return nil, fmt.Errorf("find the directory of the demo: %w", err)
	}
	l := &Local{
		Dir: dir, Log: filepath.Join(dir, "demo.log"), Sample: filepath.Join(dir, "sample-project"),
		options: options, out: terminal.Writer(options.Out, os.Environ()), started: time.Now(), failed: make(chan error, 8),
	}
	for _, s := range l.steps() {
		l.Say("%s", s.doing)
		if err := s.do(ctx); err != nil {
			return nil, errors.Join(explain(fmt.Errorf("%s: %w", s.doing, err), l.Dir), l.Stop())
		}
	}
	return l, nil
}

// Say prints a message for people, with the time since the start.
func (l *Local) Say(format string, args ...any) {
	fmt.Fprintf(l.out, "[%5.1fs] %s\n", time.Since(l.started).Seconds(), fmt.Sprintf(format, args...))
}

// Wait waits until ctx ends, which is no error, or a part fails.
func (l *Local) Wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case err := <-l.failed:
		return explain(err, l.Dir)
	}
}

// Stop stops all parts, the last one first.
func (l *Local) Stop() error {
	l.changing.Lock()
	defer l.changing.Unlock()
	var errs []error
	for len(l.stops) > 0 {
		last := len(l.stops) - 1
		stop := l.stops[last]
		l.stops = l.stops[:last]
		errs = append(errs, stop())
	}
	return errors.Join(errs...)
}

// onStop registers the function that stops a part.
func (l *Local) onStop(stop func() error) { l.stops = append(l.stops, stop) }

// fail reports that a part has failed. Only the first failures are kept.
func (l *Local) fail(err error) {
	l.broken.Store(true)
	select {
	case l.failed <- err:
	default:
	}
}

func (l *Local) startCluster(ctx context.Context) error {
	cluster, err := localcluster.Start(ctx, localcluster.Options{Assets: l.options.Assets, StateDir: filepath.Join(l.Dir, "cluster"), Log: l.log})
	if err != nil {
		return err
	}
	l.cluster, l.Kubeconfig, l.Kubectl = cluster, cluster.Kubeconfig, cluster.Kubectl
	l.onStop(cluster.Stop)
	l.Config = rest.CopyConfig(cluster.Config)
	l.Config.QPS, l.Config.Burst = 500, 1000
	watching, cancel := context.WithCancel(context.WithoutCancel(ctx))
	l.onStop(func() error {
		cancel()
		return nil
	})
	go func() {
		if err := cluster.Watch(watching); err != nil {
			l.fail(fmt.Errorf("%w; see the end of %s", err, l.Log))
		}
	}()
	l.Client, err = client.New(l.Config, client.Options{Scheme: operator.NewScheme()})
	if err != nil {
		return fmt.Errorf("connect to the API server: %w", err)
	}
	return nil
}

// explain adds advice to a failure that people can fix.
func explain(err error, dir string) error {
	if errors.Is(err, localcluster.ErrInUse) {
		return fmt.Errorf("a demo already runs in %s\nUse it (. %s), stop it with Ctrl-C in its terminal, or start a second one with DEMO_DIR=DIRECTORY make demo", dir, quote(filepath.Join(dir, "use.sh")))
	}
	if errors.Is(err, syscall.ENOSPC) {
		return fmt.Errorf("%w\nThere is no space left for %s: free some, or set DEMO_DIR to a directory elsewhere", err, dir)
	}
	return err
}
