// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/nestor-dev/nestor/internal/engine"
	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/replicas"
	"github.com/nestor-dev/nestor/internal/share"
)

// recoverRetryDelay is the delay before the recovery of a shard is tried again.
const recoverRetryDelay = time.Second

// sharding divides the shards of the ledger among operators.
type sharding struct {
	ledger   ledger.Shards
	replicas *replicas.Replicas
	// healthy reports whether the ledger answers.
	healthy atomic.Bool
}

func newSharding(mgr ctrl.Manager, options Options, own func(context.Context, replicas.Term)) (*sharding, error) {
	config := rest.CopyConfig(mgr.GetConfig())
	// A renewal that waits is a shard that is lost. It has connections of its own, and with HTTP/1.1 a request that times out closes its
	// connection, so that a cut is over as soon as the network is back.
	config.QPS, config.RateLimiter, config.NextProtos = -1, nil, []string{"http/1.1"}
	// Every operator reads every renewal of a Lease, and protocol buffers are cheaper than JSON.
	config.ContentType, config.AcceptContentTypes = runtime.ContentTypeProtobuf, runtime.ContentTypeProtobuf+","+runtime.ContentTypeJSON
	core, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("connect to the cluster: %w", err)
	}
	s := &sharding{ledger: options.Ledger}
	s.healthy.Store(true)
	s.replicas = replicas.New(replicas.Options{
		Leases: core.CoordinationV1().Leases(options.OperatorNamespace), Name: options.Replica.Name, Address: options.Replica.Address,
		Fingerprint: options.Replica.Fingerprint, Shards: options.Shards, Own: own, Healthy: s.healthy.Load, Timing: options.Replica.Timing, Owner: options.Replica.Owner,
		Log: mgr.GetLogger().WithName("replicas"),
	})
	return s, nil
}

// newKeeper returns the keeper of the shares of limits that hold for all operators together, and the same as a notifier. Both are nil if one
// operator owns the whole ledger.
func newKeeper(mgr ctrl.Manager, options Options) (*share.Keeper, share.Notifier) {
	if options.Shards == 0 {
		return nil, nil
	}
	log := mgr.GetLogger().WithName("shares")
	keeper := share.NewKeeper(share.Options{Table: options.Ledger, Name: options.Holder, StopTimeout: drainTimeout, ReportError: func(err error) {
		log.Error(err, "Cannot renew the shares of limits")
	}})
	return keeper, keeper
}

// healthInterval is how often an operator checks whether the ledger answers, and the timeout of the check.
const healthInterval = time.Second

// checkLedger checks until ctx ends whether the ledger answers.
func (s *sharding) checkLedger(ctx context.Context) {
	for wait(ctx, healthInterval) {
		reading, cancel := context.WithTimeout(ctx, healthInterval)
		_, err := s.ledger.Owners(reading)
		cancel()
		s.healthy.Store(err == nil || ctx.Err() != nil)
	}
}

// ownShards owns the shards whose Leases this operator holds until ctx ends, and then hands them over.
func (d *driver) ownShards(ctx context.Context) error {
	if err := d.divideLedger(ctx); err != nil {
		if ctx.Err() != nil {
			return nil //nolint:nilerr // the operator ends
		}
		return err
	}
	go d.sharding.checkLedger(ctx)
	return d.sharding.replicas.Start(ctx)
}

// divideLedger prepares the ledger for operators that share it. While the ledger is unavailable it waits.
func (d *driver) divideLedger(ctx context.Context) error {
	for {
		_, err := d.sharding.ledger.SetShardCount(ctx, d.router.Shards())
		if err == nil {
			err = d.router.DivideLedger(ctx)
		}
		if !errors.Is(err, ledger.ErrUnavailable) || !wait(ctx, recoverRetryDelay) {
			return err
		}
	}
}

// own owns a shard while this operator holds its Lease.
func (d *driver) own(ctx context.Context, term replicas.Term) {
	defer d.released(term.Shard)
	log := ctrl.Log.WithName("shards").WithValues("shard", term.Shard)
	e := d.router.Engine(term.Shard)
	reportOutage := sync.OnceFunc(func() {
		e.ReportOutage(true)
		d.waker.wake(ctx, term.Shard) // requests that came before this were dropped
	})
	defer e.ReportOutage(false)
	if err := e.Acquire(ctx, engine.Claim{HandOver: true, OwnerEnded: term.Expired, Unavailable: reportOutage}); err != nil {
		if ctx.Err() == nil {
			log.Error(err, "Cannot take over the shard")
			wait(ctx, recoverRetryDelay) // the Lease is released, and taken again
		}
		return
	}
	for {
		err := d.takeOver(ctx, term.Shard)
		if err == nil {
			break
		}
		if errors.Is(err, engine.ErrSuperseded) {
			return
		}
		if errors.Is(err, ledger.ErrUnavailable) {
			reportOutage()
		}
		if !wait(ctx, recoverRetryDelay) {
			e.ReportOutage(false) // a hand-over waits for reconciles
			handOver(ctx, e, term)
			return
		}
		log.Error(err, "Cannot take over the agents of the shard, retrying")
	}
	e.ReportOutage(false)
	log.V(1).Info("Owns the shard")
	if err := e.OwnShard(ctx); errors.Is(err, engine.ErrSuperseded) {
		log.Info("Another operator has taken over the shard")
		return
	}
	handOver(ctx, e, term)
}

// lostTimeout bounds a hand-over after the Lease was lost: soon after that, another operator regards it as expired. Calls in flight can
// still be detached, unless that operator was faster.
const lostTimeout = 1500 * time.Millisecond

// handOver hands over a shard whose Lease this operator is to release, or has lost.
func handOver(ctx context.Context, e *engine.Engine, term replicas.Term) {
	draining, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	go func() {
		select {
		case <-term.Lost:
			wait(draining, lostTimeout)
			cancel()
		case <-draining.Done():
		}
	}()
	e.HandOver(draining)
}

// wait waits for some time, and reports whether ctx is still valid.
func wait(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}
