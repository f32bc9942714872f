// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package replicas

import (
	"context"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
)

// shardLeases is the client of the elector of a term. It measures the validity of the Lease from the start of each write, and ends the election as
// soon as a response decides it.
type shardLeases struct {
	coordinationv1client.LeaseInterface
	term *term
}

func (s shardLeases) Leases(string) coordinationv1client.LeaseInterface { return s }

// Get ends the term if another process holds the Lease.
func (s shardLeases) Get(ctx context.Context, name string, options metav1.GetOptions) (*coordinationv1.Lease, error) {
	ctx, cancel := s.term.requestContext(ctx)
	defer cancel()
	lease, err := s.LeaseInterface.Get(ctx, name, options)
	if err != nil {
		if !apierrors.IsNotFound(err) {
			s.term.attemptFailed()
		}
		return nil, err
	}
	if held := holder(lease); held != "" && held != s.term.r.self.ID {
		s.term.r.observe(lease.DeepCopy()) // the watch may be late
		s.term.attemptFailed()
		s.term.lose()
	}
	return lease, nil
}

// Create acquires a Lease that does not exist.
func (s shardLeases) Create(ctx context.Context, lease *coordinationv1.Lease, options metav1.CreateOptions) (*coordinationv1.Lease, error) {
	s.term.r.setOwner(lease)
	return s.write(ctx, func(ctx context.Context) (*coordinationv1.Lease, error) {
		return s.LeaseInterface.Create(ctx, lease, options)
	})
}

// Update acquires or renews a Lease.
func (s shardLeases) Update(ctx context.Context, lease *coordinationv1.Lease, options metav1.UpdateOptions) (*coordinationv1.Lease, error) {
	if delay := s.term.jitterOnce(); delay > 0 {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(delay):
		}
	}
	return s.write(ctx, func(ctx context.Context) (*coordinationv1.Lease, error) {
		return s.LeaseInterface.Update(ctx, lease, options)
	})
}

func (s shardLeases) write(ctx context.Context, send func(context.Context) (*coordinationv1.Lease, error)) (*coordinationv1.Lease, error) {
	ctx, cancel := s.term.requestContext(ctx)
	defer cancel()
	s.term.writing()
	start := time.Now()
	lease, err := send(ctx)
	if err != nil {
		s.term.attemptFailed()
		s.term.logFailure(err)
		return nil, err
	}
	s.term.renewed(start)
	return lease, nil
}

// requestContext limits a request so that one that hangs leaves time for another.
func (t *term) requestContext(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, t.r.options.Timing.RenewDeadline/2)
}

// writing records that this replica may be the holder in the Lease from now on, whatever the response will be.
func (t *term) writing() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.wrote = t.wrote || !t.finished
}

// renewed records a successful write that began at start.
func (t *term) renewed(start time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.finished {
		return
	}
	t.acquired, t.failing = true, false
	if !t.isLost() {
		t.deadline.Reset(time.Until(start.Add(t.r.options.Timing.RenewDeadline)))
	}
}

// logFailure logs the first of several failures in a row.
func (t *term) logFailure(err error) {
	t.mu.Lock()
	first := t.acquired && !t.failing && t.election.Err() == nil
	t.failing = t.failing || first
	t.mu.Unlock()
	if first {
		t.r.options.Log.Info("Cannot renew the Lease of a shard", "shard", t.Shard, "reason", err.Error())
	}
}

// attemptFailed ends an election in which the Lease could not be acquired at once. The coordinator tries again when the Lease changes or after a
// while; the elector would wait for up to 2.2 RetryPeriods.
func (t *term) attemptFailed() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.acquired {
		t.endElection()
	}
}
