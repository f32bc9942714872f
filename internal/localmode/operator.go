// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package localmode

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"
	ctrl "sigs.k8s.io/controller-runtime"

	historyv1beta1 "github.com/nestor-dev/nestor/api/history/v1beta1"
	"github.com/nestor-dev/nestor/internal/controller"
	"github.com/nestor-dev/nestor/internal/history/transcript"
	"github.com/nestor-dev/nestor/internal/ledger/connect"
	"github.com/nestor-dev/nestor/internal/ledger/sqlstore"
	"github.com/nestor-dev/nestor/internal/listen"
	"github.com/nestor-dev/nestor/internal/localcluster"
	"github.com/nestor-dev/nestor/internal/operator"
	"github.com/nestor-dev/nestor/internal/public"
)

const operatorNamespace = "nestor-system"

// historyService is the name of the Service through which the API server reaches the history API.
const historyService = "nestor-history"

func (l *Local) openLedger(ctx context.Context) error {
	store, err := connect.Open(ctx, "sqlite:"+filepath.Join(l.Dir, "ledger.db"), sqlstore.Search(transcript.Text))
	if err != nil {
		return err
	}
	l.ledger = store
	l.onStop(store.Close)
	return nil
}

// startOperator runs the operator and the gateway in this process until they are stopped.
func (l *Local) startOperator(ctx context.Context) error {
	scratch := filepath.Join(l.Dir, "homes")
	if err := os.RemoveAll(scratch); err != nil { // left by a killed demo
		return fmt.Errorf("remove the home directories of commands: %w", err)
	}
	if err := os.MkdirAll(scratch, 0o700); err != nil {
		return fmt.Errorf("create a directory for the home directories of commands: %w", err)
	}
	if err := os.MkdirAll(l.projects(), 0o755); err != nil {
		return fmt.Errorf("create a directory for the copies of the sample project: %w", err)
	}
	var err error
	if l.webhook, err = new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0"); err != nil {
		return fmt.Errorf("open a port for the webhook: %w", err)
	}
	assembled, err := operator.New(ctx, operator.Options{
		Config: l.Config, Service: "nestor-demo",
		Controllers: controller.Options{
			Ledger: l.ledger, OperatorNamespace: operatorNamespace, AllowLoopbackEndpoints: true,
			LocalWorkspaces: []string{l.Sample, l.projects()}, OwnWorkspace: l.ownCopy, WorkspaceScratch: scratch,
		},
		History: operator.History{Address: "127.0.0.1:0", Certificate: operator.Certificate{Service: historyService}},
		Gateway: operator.Gateway{InProcess: true, PageURL: l.pageURL()}, Admission: operator.Admission{Listener: l.webhook},
	})
	if err != nil {
		return err
	}
	l.history = assembled.History
	intake := assembled.Intake()
	l.intake.Store(&intake)
	doors := public.Doors{Cluster: l.Config, OperatorNamespace: operatorNamespace, Operator: intake, PageURL: l.pageURL(), Log: ctrl.Log}
	gateway := listen.Server{Name: "the gateway", Listener: l.gateway, Handler: doors.Handler()}
	running, cancel := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan error, 1)
	go func() {
		both, ctx := errgroup.WithContext(running)
		both.Go(func() error { return assembled.Run(ctx) })
		both.Go(func() error { return gateway.Start(ctx) })
		err := both.Wait()
		if running.Err() == nil {
			l.fail(fmt.Errorf("the operator has ended unexpectedly: %w; see the end of %s", err, l.Log))
		}
		ended <- err
	}()
	l.stopOperator = func() error {
		l.stopOperator = nil
		cancel()
		select {
		case err := <-ended:
			return err
		case <-time.After(l.stopTimeout()):
			return errors.New("the operator did not stop in time")
		}
	}
	l.onStop(func() error {
		if l.stopOperator == nil {
			return nil
		}
		return l.stopOperator()
	})
	return nil
}

// ToggleOperator stops the operator with the gateway and the history API, or starts them again, while everything else runs.
func (l *Local) ToggleOperator(ctx context.Context) (running bool, err error) {
	l.changing.Lock()
	defer l.changing.Unlock()
	if err := ctx.Err(); err != nil {
		return false, err
	}
	if l.stopOperator != nil {
		return false, l.stopOperator()
	}
	for _, do := range []func(context.Context) error{l.openGateway, l.startOperator, l.registerHistory, l.registerWebhook} {
		if err := do(ctx); err != nil {
			return false, fmt.Errorf("start the operator again: %w", err)
		}
	}
	return true, nil
}

// registerHistory registers the history API, so that the API server forwards requests for full histories to the operator.
func (l *Local) registerHistory(ctx context.Context) error {
	return l.cluster.ServeAPI(ctx, localcluster.API{
		GroupVersion: historyv1beta1.GroupVersion, Namespace: operatorNamespace, Service: historyService,
		Port: l.history.Port(), CABundle: l.history.CABundle(),
	})
}

// stopTimeout returns the timeout for stopping the operator: without an API server it cannot finish anything.
func (l *Local) stopTimeout() time.Duration {
	if l.broken.Load() {
		return 5 * time.Second
	}
	return 40 * time.Second
}
