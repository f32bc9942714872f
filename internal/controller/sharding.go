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

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/nestor-dev/nestor/internal/engine"
	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/replicas"
	"github.com/nestor-dev/nestor/internal/share"
)

// retryInterval is how often an operator tries again to recover a shard, and checks whether the API server answers. It
// is also the timeout of the check.
const retryInterval = time.Second

// sharding divides the shards of the ledger among operators.
type sharding struct {
	ledger   ledger.Shards
	replicas *replicas.Replicas
	api      rest.Interface
	// healthy reports whether the API server answers.
	healthy atomic.Bool
}

func newSharding(mgr ctrl.Manager, options Options, own func(context.Context, int)) (*sharding, error) {
	config := rest.CopyConfig(mgr.GetConfig())
	config.QPS, config.RateLimiter = -1, nil // a burst of writes must not look like an outage
	core, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("connect to the cluster: %w", err)
	}
	s := &sharding{ledger: options.Ledger, api: core.Discovery().RESTClient()}
	s.healthy.Store(true)
	s.replicas = replicas.New(replicas.Options{
		Ledger: options.Ledger, ID: options.Holder, Name: options.Replica.Name, Address: options.Replica.Address,
		Fingerprint: options.Replica.Fingerprint, Shards: max(options.Shards, 1), Own: own, Healthy: s.healthy.Load,
		LeaseDuration: options.Replica.LeaseDuration, Log: mgr.GetLogger().WithName("replicas"),
	})
	return s, nil
}

// newKeeper returns the keeper of the shares of limits that hold for all operators together, and the same as a
// notifier. Both are nil if one operator owns the whole ledger.
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

// checkAPI checks until ctx ends whether the API server answers. Any answer counts.
func (s *sharding) checkAPI(ctx context.Context) {
	for waitInterval(ctx) {
		reading, cancel := context.WithTimeout(ctx, retryInterval)
		err := s.api.Get().AbsPath("/version").Do(reading).Error()
		cancel()
		var answer apierrors.APIStatus
		s.healthy.Store(err == nil || errors.As(err, &answer) || ctx.Err() != nil)
	}
}

// ownShards owns the shards that are assigned to this operator until ctx ends, and then hands them over.
func (d *driver) ownShards(ctx context.Context) error {
	if err := d.divideLedger(ctx); err != nil {
		if ctx.Err() != nil {
			return nil //nolint:nilerr // the operator ends
		}
		return err
	}
	go d.sharding.checkAPI(ctx)
	return d.sharding.replicas.Start(ctx)
}

// divideLedger sets the number of shards. It waits while the ledger is unavailable, and while operators with another
// number own shards.
func (d *driver) divideLedger(ctx context.Context) error {
	for reported := false; ; {
		_, err := d.sharding.ledger.SetShardCount(ctx, d.router.Shards())
		if errors.Is(err, ledger.ErrShardsInUse) && !reported {
			reported = true
			ctrl.Log.WithName("shards").Info("Waits", "reason", err.Error())
		}
		if !errors.Is(err, ledger.ErrUnavailable) && !errors.Is(err, ledger.ErrShardsInUse) || !waitInterval(ctx) {
			return err
		}
	}
}

// own takes a shard, and owns it until ctx ends or another operator takes it.
func (d *driver) own(ctx context.Context, shard int) {
	defer d.released(shard)
	log := ctrl.Log.WithName("shards").WithValues("shard", shard)
	e := d.router.Engine(shard)
	reportOutage := sync.OnceFunc(func() {
		e.ReportOutage(true)
		d.waker.wake(ctx, shard) // requests that came before this were dropped
	})
	defer e.ReportOutage(false)
	if err := e.Acquire(ctx, reportOutage); err != nil {
		if ctx.Err() == nil {
			log.Error(err, "Cannot take over the shard")
			waitInterval(ctx) // it is tried again
		}
		return
	}
	for {
		err := d.takeOver(ctx, shard)
		if err == nil {
			break
		}
		if errors.Is(err, engine.ErrSuperseded) {
			return
		}
		if errors.Is(err, ledger.ErrUnavailable) {
			reportOutage()
		}
		if !waitInterval(ctx) {
			e.ReportOutage(false) // a hand-over waits for reconciles
			_ = e.HandOver(context.WithoutCancel(ctx))
			return
		}
		log.Error(err, "Cannot take over the agents of the shard, retrying")
	}
	e.ReportOutage(false)
	log.V(1).Info("Owns the shard")
	err := e.OwnShard(ctx)
	if err == nil {
		err = e.HandOver(context.WithoutCancel(ctx))
	}
	if errors.Is(err, engine.ErrSuperseded) {
		log.Info("Another operator has taken over the shard")
	}
}

// waitInterval waits for retryInterval, and reports whether ctx is still valid.
func waitInterval(ctx context.Context) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(retryInterval):
		return true
	}
}
