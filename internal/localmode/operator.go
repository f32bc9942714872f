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

	"github.com/nestor-dev/nestor/api/v1alpha1"
	"github.com/nestor-dev/nestor/internal/controller"
	"github.com/nestor-dev/nestor/internal/ledger/connect"
)

// operatorNamespace is where an operator in a cluster would run.
const operatorNamespace = "nestor-system"

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
	if err := controller.Setup(mgr, controller.Options{
		OperatorNamespace: operatorNamespace, Ledger: l.ledger, LocalWorkspaces: []string{l.Sample}, WorkspaceScratch: scratch,
	}); err != nil {
		return err
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

// stopTimeout is how long the operator may take to stop: without an API server it cannot finish anything.
func (l *Local) stopTimeout() time.Duration {
	if l.broken.Load() {
		return 5 * time.Second
	}
	return 40 * time.Second
}
