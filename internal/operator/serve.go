// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"fmt"
	"net"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/nestor-dev/nestor/internal/history"
	"github.com/nestor-dev/nestor/internal/history/live"
	"github.com/nestor-dev/nestor/internal/metrics"
	"github.com/nestor-dev/nestor/internal/server"
	"github.com/nestor-dev/nestor/internal/streams"
)

// History configures the history API.
type History struct {
	// Address is the address for the API server's aggregator; empty and "0" turn it off.
	Address     string
	Certificate Certificate
	// Streams limits the transcripts that are followed at the same time.
	Streams streams.Limits
}

// Page configures the web page to which people sign in with their own tokens.
type Page struct {
	// Address is the address to listen on; empty and "0" turn it off.
	Address string
	// URL is where people reach the page, or empty if that is not known.
	URL string
	// Streams limits the pages that are open at the same time.
	Streams streams.Limits
}

// serve adds the history API and the web page to the manager, and registers the metrics of their streams.
func (o *Operator) serve(ctx context.Context) error {
	ofHistory, ofPage := streams.NewLimiter(o.options.History.Streams), streams.NewLimiter(o.options.Page.Streams)
	ofReplicas := streams.NewLimiter(streams.Limits{PerUser: maxReplicaStreams})
	ofGateway := streams.NewLimiter(o.options.Gateway.Streams)
	stats := map[string]func() streams.Stats{"history": ofHistory.Stats, "web": ofPage.Stats, "replica": ofReplicas.Stats, "gateway": ofGateway.Stats}
	if err := o.register(metrics.Streams{Stats: stats}); err != nil {
		return err
	}
	hub, err := o.relay(ctx, ofReplicas)
	if err != nil {
		return err
	}
	if err := o.serveHistory(ctx, ofHistory, hub); err != nil {
		return err
	}
	if err := o.serveGateway(ofGateway); err != nil {
		return err
	}
	return o.servePage(ofPage)
}

// register adds a collector to the metrics, if there are any.
func (o *Operator) register(collector prometheus.Collector) error {
	registry := o.options.Controllers.Metrics
	if registry == nil {
		return nil
	}
	if err := registry.Register(collector); err != nil {
		return fmt.Errorf("register %T: %w", collector, err)
	}
	return nil
}

// off reports whether an address turns off its listener.
func off(address string) bool { return address == "" || address == "0" }

// serveHistory adds the history API, which does not wait for leadership.
func (o *Operator) serveHistory(ctx context.Context, limiter *streams.Limiter, hub *live.Hub) error {
	if off(o.options.History.Address) {
		return nil
	}
	certificate := o.options.History.Certificate
	options := history.Options{
		Cluster: o.manager.GetConfig(), Ledger: o.options.Controllers.Ledger, Live: hub, Address: o.options.History.Address,
		CertFile: certificate.File, KeyFile: certificate.KeyFile, Hosts: []string{o.historyHost()}, Streams: limiter,
		Workspaces: o.controllers.Workspaces,
	}
	if certificate.Secret != "" {
		keeper, err := o.certificateKeeper()
		if err != nil {
			return err
		}
		options.Certificate = keeper
	}
	server, err := history.New(ctx, options)
	if err != nil {
		return err
	}
	if err := o.manager.Add(server); err != nil {
		return fmt.Errorf("add the history API: %w", err)
	}
	o.History = server
	return nil
}

// servePage adds the web page, which does not wait for leadership. It acts only with the permissions of its users.
func (o *Operator) servePage(limiter *streams.Limiter) error {
	if off(o.options.Page.Address) {
		return nil
	}
	handler := server.New(server.Options{Identity: server.Tokens(o.manager.GetConfig(), true), Streams: limiter, OperatorNamespace: o.options.Controllers.OperatorNamespace})
	if err := o.manager.Add(page{address: o.options.Page.Address, handler: handler}); err != nil {
		return fmt.Errorf("add the web page: %w", err)
	}
	return nil
}

// page runs the web page as a part of the manager.
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
