// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package replicas

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/go-logr/logr"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/client-go/util/retry"
	"k8s.io/klog/v2"
)

// term is one attempt to hold a shard, from before the Lease is acquired until it is released or lost.
type term struct {
	Term
	r        *Replicas
	base     context.Context
	expired  *coordinationv1.Lease // the Lease to take over
	received bool                  // another replica held it before
	owning   bool                  // the Lease is held, and Own was called; guarded by r.mu

	own         context.Context // Own's
	end         context.CancelCauseFunc
	election    context.Context
	endElection context.CancelFunc
	lost        chan struct{}

	mu       sync.Mutex
	acquired bool
	wrote    bool // this replica may be the holder in the Lease
	spread   bool // the renewals are out of step with those of other shards
	failing  bool // the last renewal failed
	finished bool
	deadline *time.Timer // ends the term before the Lease can expire for others
}

func (r *Replicas) newTerm(base context.Context, shard int, at availability) *term {
	s := r.view.shards[shard]
	t := &term{
		r: r, base: base, lost: make(chan struct{}), received: at == free && s.lastHolder != "" && s.lastHolder != r.self.ID,
	}
	t.Term = Term{Shard: shard, Expired: at == expired || at == mine, Lost: t.lost}
	if at == expired {
		t.expired = s.lease
	}
	t.own, t.end = context.WithCancelCause(base)
	t.election, t.endElection = context.WithCancel(klog.NewContext(base, logr.Discard())) // shardLeases logs what matters
	t.deadline = time.AfterFunc(time.Hour, t.lose)
	t.deadline.Stop()
	return t
}

// run acquires the Lease, calls Own, and releases the Lease.
func (t *term) run() {
	started := make(chan struct{})
	elector, err := leaderelection.NewLeaderElector(t.electionConfig(func(context.Context) { close(started) }))
	if err == nil {
		err = t.takeOver()
	}
	if err != nil {
		t.failed(err)
		return
	}
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		elector.Run(t.election)
	}()
	var again retryAt
	select {
	case <-stopped:
		again = retryAt{at: time.Now().Add(jittered(t.r.options.Timing.RetryPeriod))}
	case <-started:
		again = t.serve(stopped)
	}
	t.endElection()
	<-stopped
	t.finish()
	t.r.ended(t, again)
}

// failed ends a term that did not begin.
func (t *term) failed(err error) {
	t.close()
	if !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
		t.r.options.Log.Error(err, "Cannot acquire the Lease of a shard", "shard", t.Shard)
	}
	t.r.ended(t, retryAt{at: time.Now().Add(jittered(t.r.options.Timing.RetryPeriod))})
}

// takeOver makes this replica the holder of an expired Lease, if it was not written since this replica saw it last. The elector then finds that it
// holds the Lease; alone it would wait until the Lease expires for it too.
func (t *term) takeOver() error {
	if t.expired == nil {
		return nil
	}
	lease := t.expired.DeepCopy()
	record := resourcelock.LeaseSpecToLeaderElectionRecord(&lease.Spec)
	now := metav1.Now()
	record.HolderIdentity, record.AcquireTime, record.RenewTime = t.r.self.ID, now, now
	record.LeaseDurationSeconds = int(t.r.options.Timing.LeaseDuration / time.Second)
	record.LeaderTransitions++
	lease.Spec = resourcelock.LeaderElectionRecordToLeaseSpec(record)
	ctx, cancel := t.requestContext(t.base)
	defer cancel()
	_, err := t.r.options.Leases.Update(ctx, lease, metav1.UpdateOptions{})
	return err
}

func (t *term) electionConfig(started func(context.Context)) leaderelection.LeaderElectionConfig {
	name, timing := shardName(t.Shard), t.r.options.Timing
	return leaderelection.LeaderElectionConfig{
		Lock: &resourcelock.LeaseLock{
			LeaseMeta:  metav1.ObjectMeta{Name: name},
			Client:     shardLeases{t.r.options.Leases, t},
			LockConfig: resourcelock.ResourceLockConfig{Identity: t.r.self.ID},
			Labels:     map[string]string{leaseLabel: shardLease},
		},
		LeaseDuration: timing.LeaseDuration, RenewDeadline: timing.RenewDeadline, RetryPeriod: timing.RetryPeriod,
		Callbacks: leaderelection.LeaderCallbacks{OnStartedLeading: started, OnStoppedLeading: func() {}},
		Name:      name,
	}
}

// serve calls Own and returns when the shard may be tried again.
func (t *term) serve(stopped <-chan struct{}) retryAt {
	t.begin()
	done := make(chan struct{})
	go func() {
		defer close(done)
		t.r.options.Own(t.own, t.Term)
	}()
	select {
	case <-stopped:
		t.lose()
	case <-t.lost:
	case <-done:
	}
	t.await(done)
	if t.own.Err() != nil {
		return retryAt{}
	}
	t.r.options.Log.Info("The owner of a shard gave up", "shard", t.Shard)
	return retryAt{at: time.Now().Add(jittered(t.r.options.Timing.RetryPeriod)), firm: true}
}

// await waits until Own has returned.
func (t *term) await(done <-chan struct{}) {
	for {
		select {
		case <-done:
			return
		case <-time.After(t.r.options.Timing.LeaseDuration):
			t.r.options.Log.Info("The owner of a shard whose Lease was lost does not stop", "shard", t.Shard)
		}
	}
}

func (t *term) begin() {
	t.r.mu.Lock()
	t.owning = true
	switch {
	case t.Expired:
		t.r.stats.TakenOver++
	case t.received:
		t.r.stats.Received++
	}
	t.r.mu.Unlock()
	t.r.notify()
	log := t.r.options.Log
	if !t.Expired {
		log = log.V(1)
	}
	log.Info("Acquired the Lease of a shard", "shard", t.Shard, "expired", t.Expired)
}

// finish releases the Lease unless it was lost. A Lease that was taken over but never acted upon is left to expire again, so that its next holder knows
// that the one before did not release it.
func (t *term) finish() {
	handedOver := t.own.Err() != nil
	t.close()
	if !t.wrote || t.isLost() || t.Expired && !t.acquired {
		return
	}
	if err := t.release(); err != nil {
		t.r.options.Log.Error(err, "Cannot release the Lease of a shard", "shard", t.Shard)
		return
	}
	if t.acquired && handedOver {
		t.r.mu.Lock()
		t.r.stats.HandedOver++
		t.r.mu.Unlock()
		t.r.options.Log.V(1).Info("Released the Lease of a shard", "shard", t.Shard)
	}
}

// close ends everything that belongs to the term; nothing changes it after that.
func (t *term) close() {
	t.mu.Lock()
	t.finished = true
	t.deadline.Stop()
	t.endElection()
	t.end(ErrHandOver)
	t.mu.Unlock()
	t.r.mu.Lock()
	t.owning = false
	t.r.mu.Unlock()
}

// abandon releases a Lease that this replica holds by mistake.
func (t *term) abandon() {
	if err := t.release(); err != nil {
		t.failed(err)
		return
	}
	t.close()
	t.r.ended(t, retryAt{at: time.Now().Add(t.r.options.Timing.RetryPeriod), firm: true}) // the watch may be late
}

// release makes the Lease free if this replica holds it. The release of client-go's elector does not look who holds the Lease now, and may
// empty that of another holder.
func (t *term) release() error {
	var last error
	err := wait.PollUntilContextTimeout(t.base, 100*time.Millisecond, t.r.options.Timing.RenewDeadline, true, func(ctx context.Context) (bool, error) {
		last = retry.RetryOnConflict(retry.DefaultRetry, func() error { return t.tryRelease(ctx) })
		return last == nil || apierrors.IsNotFound(last), nil
	})
	if err != nil {
		return fmt.Errorf("%w: %w", err, last)
	}
	return nil
}

func (t *term) tryRelease(ctx context.Context) error {
	ctx, cancel := t.requestContext(ctx)
	defer cancel()
	lease, err := t.r.options.Leases.Get(ctx, shardName(t.Shard), metav1.GetOptions{})
	if err != nil || holder(lease) != t.r.self.ID {
		return err
	}
	nobody, second, now := "", int32(1), metav1.NowMicro()
	lease.Spec.HolderIdentity, lease.Spec.LeaseDurationSeconds, lease.Spec.RenewTime = &nobody, &second, &now
	_, err = t.r.options.Leases.Update(ctx, lease, metav1.UpdateOptions{})
	return err
}

// recreate creates the Lease again after it was deleted, before the elector would: a replica that starts just now regards it as free.
func (t *term) recreate() {
	t.mu.Lock()
	recreate := t.acquired && !t.isLost()
	t.mu.Unlock()
	if !recreate {
		return
	}
	now := metav1.Now()
	lease := t.r.newLease(shardName(t.Shard), shardLease)
	lease.Spec = resourcelock.LeaderElectionRecordToLeaseSpec(&resourcelock.LeaderElectionRecord{
		HolderIdentity: t.r.self.ID, AcquireTime: now, RenewTime: now, LeaseDurationSeconds: int(t.r.options.Timing.LeaseDuration / time.Second),
	})
	if _, err := (shardLeases{t.r.options.Leases, t}).Create(t.election, lease, metav1.CreateOptions{}); err != nil && t.election.Err() == nil {
		t.r.options.Log.Info("Cannot create the Lease of a shard again", "shard", t.Shard, "reason", err.Error())
	}
}

// handOver ends Own's context, or the attempt to acquire the Lease.
func (t *term) handOver() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.end(ErrHandOver)
	if !t.acquired {
		t.endElection()
	}
}

// lose ends Own's context because the Lease is lost.
func (t *term) lose() {
	t.mu.Lock()
	if t.isLost() || !t.acquired || t.finished {
		t.mu.Unlock()
		return
	}
	close(t.lost)
	t.end(ErrLeaseLost)
	t.endElection()
	t.mu.Unlock()
	t.r.options.Log.Info("Lost the Lease of a shard", "shard", t.Shard)
	t.r.mu.Lock()
	t.r.stats.Lost++
	t.r.mu.Unlock()
}

func (t *term) isLost() bool {
	select {
	case <-t.lost:
		return true
	default:
		return false
	}
}

// jitterOnce returns how long to wait before the first renewal, which the elector does at once: the shards that were acquired together are
// renewed at different times from then on.
func (t *term) jitterOnce() time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.spread || !t.acquired {
		return 0
	}
	t.spread = true
	return rand.N(t.r.options.Timing.RetryPeriod)
}
