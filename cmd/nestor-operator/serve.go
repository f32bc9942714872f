// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"net"
	"net/http"

	ctrl "sigs.k8s.io/controller-runtime"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/nestor-dev/nestor/internal/history"
	"github.com/nestor-dev/nestor/internal/history/live"
	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/metrics"
	"github.com/nestor-dev/nestor/internal/server"
	"github.com/nestor-dev/nestor/internal/streams"
)

// serve adds the history API and the web page to what the manager runs, and counts their streams.
func (o *options) serve(ctx context.Context, mgr ctrl.Manager, kept ledger.Ledger, hub *live.Hub) error {
	ofHistory, ofPage := streams.NewLimiter(o.historyStreams), streams.NewLimiter(o.webStreams)
	counted := metrics.Streams{Stats: map[string]func() streams.Stats{"history": ofHistory.Stats, "web": ofPage.Stats}}
	if err := ctrlmetrics.Registry.Register(counted); err != nil {
		return fmt.Errorf("register %T: %w", counted, err)
	}
	if err := o.serveHistory(ctx, mgr, kept, hub, ofHistory); err != nil {
		return err
	}
	return o.servePage(mgr, ofPage)
}

// serveHistory adds the history API to what the manager runs, leader or not.
func (o *options) serveHistory(ctx context.Context, mgr ctrl.Manager, kept ledger.Ledger, hub *live.Hub, limiter *streams.Limiter) error {
	if o.history == "0" || o.history == "" {
		return nil
	}
	options := history.Options{
		Cluster: mgr.GetConfig(), Ledger: kept, Live: hub, Address: o.history, CertFile: o.certificate.file, KeyFile: o.certificate.keyFile,
		Streams: limiter,
	}
	keeper, err := o.certificate.keeper(mgr)
	if err != nil {
		return err
	}
	if keeper != nil {
		options.Certificate = keeper
	}
	server, err := history.New(ctx, options)
	if err != nil {
		return err
	}
	if err := mgr.Add(server); err != nil {
		return fmt.Errorf("add the history API: %w", err)
	}
	return nil
}

// servePage adds the web page to what the manager runs, leader or not. It has no rights but those of who looks.
func (o *options) servePage(mgr ctrl.Manager, limiter *streams.Limiter) error {
	if o.web == "0" || o.web == "" {
		return nil
	}
	handler := server.New(server.Options{Identity: server.Tokens(mgr.GetConfig(), true), Streams: limiter})
	if err := mgr.Add(page{address: o.web, handler: handler}); err != nil {
		return fmt.Errorf("add the web page: %w", err)
	}
	return nil
}

// page is the web page as a part of the manager.
type page struct {
	address string
	handler http.Handler
}

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (page) NeedLeaderElection() bool { return false }

// Start implements manager.Runnable.
func (p page) Start(ctx context.Context) error {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", p.address)
	if err != nil {
		return fmt.Errorf("serve the web page: %w", err)
	}
	return server.Serve(ctx, listener, p.handler)
}
