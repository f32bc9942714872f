// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"fmt"

	"github.com/nestor-dev/nestor/internal/history/live"
	"github.com/nestor-dev/nestor/internal/history/relay"
	"github.com/nestor-dev/nestor/internal/shard"
	"github.com/nestor-dev/nestor/internal/streams"
)

// maxReplicaStreams limits the agents of this operator that one other replica follows at the same time.
const maxReplicaStreams = 10_000

// relays reports whether this operator passes live text from and to other replicas.
func (o *Operator) relays() bool {
	return o.options.Controllers.Shards > 0 && !off(o.options.ReplicaAddress)
}

// relay adds the relay of live text to the manager, and returns the hub with the live text of all agents that this operator can reach.
func (o *Operator) relay(ctx context.Context, limiter *streams.Limiter) (*live.Hub, error) {
	if !o.relays() {
		return o.options.Live, nil
	}
	controllers := o.options.Controllers
	passing, err := relay.New(ctx, relay.Options{
		Address: o.options.ReplicaAddress, Identity: o.identity, Replicas: relay.FromRows(o.controllers.Replicas, shard.Count(controllers.Shards)),
		Agents: controllers.Ledger, Local: o.options.Live, Streams: limiter, Log: o.manager.GetLogger().WithName("relay"),
	})
	if err != nil {
		return nil, err
	}
	if err := o.manager.Add(passing); err != nil {
		return nil, fmt.Errorf("add the relay of live text: %w", err)
	}
	return passing.Hub(), nil
}
