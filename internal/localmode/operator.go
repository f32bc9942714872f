// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package localmode

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	historyv1alpha1 "github.com/nestor-dev/nestor/api/history/v1alpha1"
	"github.com/nestor-dev/nestor/api/v1alpha1"
	"github.com/nestor-dev/nestor/internal/controller"
	"github.com/nestor-dev/nestor/internal/history"
	"github.com/nestor-dev/nestor/internal/history/live"
	"github.com/nestor-dev/nestor/internal/ledger/connect"
	"github.com/nestor-dev/nestor/internal/localcluster"
	"github.com/nestor-dev/nestor/internal/telemetry"
	"github.com/nestor-dev/nestor/internal/version"
)

// operatorNamespace is where an operator in a cluster would run.
const operatorNamespace = "nestor-system"

// historyService is the name under which the API server reaches the history API.
const historyService = "nestor-history"

func newScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme)) // they fail only if two kinds have one name
	utilruntime.Must(v1alpha1.AddToScheme(scheme))
	return scheme
}

func (l *Local) openLedger(ctx context.Context) error {
	kept, err := connect.Open(ctx, "sqlite:"+filepath.Join(l.Dir, "ledger.db"))
	if err != nil {
		return err
	}
	l.ledger = kept
	l.onStop(kept.Close)
	return nil
}

// startOperator runs the operator in this process until it is stopped.
func (l *Local) startOperator(ctx context.Context) error {
	scratch := filepath.Join(l.Dir, "homes")
	if err := os.RemoveAll(scratch); err != nil { // what a killed demo left
		return fmt.Errorf("clear the homes of commands: %w", err)
	}
	if err := os.MkdirAll(scratch, 0o700); err != nil {
		return fmt.Errorf("make a place for the homes of commands: %w", err)
	}
	mgr, err := ctrl.NewManager(l.Config, ctrl.Options{
		Scheme: newScheme(), Metrics: metricsserver.Options{BindAddress: "0"}, Cache: controller.Cache(cache.Options{}),
	})
	if err != nil {
		return fmt.Errorf("connect to the API server: %w", err)
	}
	tells, err := telemetry.Start(ctx, telemetry.Options{Service: "nestor-demo", Version: version.String(), Log: mgr.GetLogger().WithName("telemetry")})
	if err != nil {
		return fmt.Errorf("start OpenTelemetry: %w", err)
	}
	l.onStop(func() error { tells.End(context.WithoutCancel(ctx)); return nil })
	hub := &live.Hub{}
	if err := controller.Setup(mgr, controller.Options{
		Telemetry: tells, AllowLoopbackEndpoints: true,
		OperatorNamespace: operatorNamespace, Ledger: l.ledger, Observer: hub, LocalWorkspaces: []string{l.Sample}, WorkspaceScratch: scratch,
	}); err != nil {
		return err
	}
	if l.history, err = history.New(ctx, history.Options{
		Cluster: l.Config, Ledger: l.ledger, Live: hub, Address: "127.0.0.1:0", Hosts: []string{historyService + "." + operatorNamespace + ".svc"},
	}); err != nil {
		return err
	}
	if err := mgr.Add(l.history); err != nil {
		return fmt.Errorf("add the history API: %w", err)
	}
	running, cancel := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan error, 1)
	go func() {
		err := mgr.Start(running)
		if running.Err() == nil {
			l.fail(fmt.Errorf("the operator has ended unexpectedly: %w; what it said last is in %s", err, l.Log))
		}
		ended <- err
	}()
	l.onStop(func() error {
		cancel()
		select {
		case err := <-ended:
			return err
		case <-time.After(l.stopTimeout()):
			return errors.New("the operator did not stop in time, and was left")
		}
	})
	return nil
}

// registerHistory lets the API server pass requests for full histories on to the operator.
func (l *Local) registerHistory(ctx context.Context) error {
	return l.cluster.ServeAPI(ctx, localcluster.API{
		GroupVersion: historyv1alpha1.GroupVersion, Namespace: operatorNamespace, Service: historyService,
		Port: l.history.Port(), CABundle: l.history.CABundle(),
	})
}

// stopTimeout is how long the operator may take to stop: without an API server it cannot finish anything.
func (l *Local) stopTimeout() time.Duration {
	if l.broken.Load() {
		return 5 * time.Second
	}
	return 40 * time.Second
}
