// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/nestor-dev/nestor/internal/history"
	"github.com/nestor-dev/nestor/internal/history/live"
	"github.com/nestor-dev/nestor/internal/metrics/serving"
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

// serve adds the history API and the endpoints for the gateway and for admission to the manager, and registers the metrics of their streams.
func (o *Operator) serve(ctx context.Context) error {
	ofHistory := streams.NewLimiter(o.options.History.Streams)
	ofReplicas := streams.NewLimiter(streams.Limits{PerUser: maxReplicaStreams})
	stats := map[string]func() streams.Stats{"history": ofHistory.Stats, "replica": ofReplicas.Stats}
	if err := o.register(serving.Streams{Stats: stats}); err != nil {
		return err
	}
	hub, err := o.relay(ctx, ofReplicas)
	if err != nil {
		return err
	}
	if err := o.serveHistory(ctx, ofHistory, hub); err != nil {
		return err
	}
	if err := o.serveIntake(); err != nil {
		return err
	}
	return o.serveAdmission()
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
