// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package share

import (
	"context"
	"crypto/rand"
	"fmt"
	"sync"
	"time"
)

const (
	// period is the time between two transactions of a replica that uses or needs something.
	period = time.Second
	// behindPeriod is the time between them while other replicas are about to return an amount that this one needs, for
	// at most behindFor.
	behindPeriod = 250 * time.Millisecond
	behindFor    = 3 * time.Second
	// minInterval is the shortest time between two transactions.
	minInterval = 100 * time.Millisecond
	// idleFor is how long a share is kept without use.
	idleFor = 10 * time.Second
	// queryTimeout bounds a transaction, so that another attempt fits into ValidFor.
	queryTimeout = 2 * time.Second
	// recoveryFor is how long expired rows of other replicas count after this one could not reach the ledger: the others
	// may not have reached it either.
	recoveryFor = 3 * time.Second
)

// Table has the rows of all replicas; ledger.Shares describes it.
type Table interface {
	UpdateShares(ctx context.Context, replica string, resources []string, ttl time.Duration, decide func(all []Row) []Row) error
}

// Row is the amount that one replica holds of a resource. It is not a type of the ledger, because the scheduler of
// model calls uses this package and must not depend on the ledger.
type Row struct {
	Resource, Replica string
	// Amount is at least 0.
	Amount int64
	// Demand is JSON that the replica reports to the others; the ledger does not read it.
	Demand []byte
	// Expired reports that the replica no longer uses the share, and Age is the time since it was stored. The ledger sets
	// both.
	Expired bool
	Age     time.Duration
}

type Options struct {
	Table Table
	// Name of the replica, for people. The keeper adds a random suffix: a process must not continue the row of an earlier
	// one.
	Name string
	// StopTimeout is how long Start waits for work in flight after its context has ended.
	StopTimeout time.Duration
	// ReportError is called when a transaction fails. The share is used until it expires.
	ReportError func(error)
}

// Keeper keeps the shares of a replica. It makes no transaction while the replica uses and needs nothing.
type Keeper struct {
	options Options
	replica string
	sources []Source
	wake    chan struct{}

	// Used by the goroutine of Start only.
	held          map[string]*heldState
	lastSuccess   time.Time
	recoveryUntil time.Time
	behindSince   time.Time

	mu        sync.Mutex
	due       time.Time       // of the next transaction; zero while idle
	lastRound time.Time       // when the last transaction began
	exhausted map[string]bool // resources of which nothing is free
}

// heldState is the state of a resource that has a row.
type heldState struct {
	source    Source
	idleSince time.Time // zero while it is used
}

// NewKeeper returns a Keeper without sources.
func NewKeeper(options Options) *Keeper {
	return &Keeper{
		options: options, replica: options.Name + "/" + rand.Text()[:8],
		wake: make(chan struct{}, 1), held: map[string]*heldState{}, exhausted: map[string]bool{},
	}
}

// Add adds a source. All sources must be added before Start. A resource belongs to one source.
func (k *Keeper) Add(source Source) { k.sources = append(k.sources, source) }

// Start keeps the shares until ctx ends. It then lets the work in flight end, returns the shares and returns.
func (k *Keeper) Start(ctx context.Context) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			k.stop(context.WithoutCancel(ctx))
			return nil
		case <-k.wake:
		case <-timer.C:
		}
		wait, idle := k.untilDue()
		if !idle && wait <= 0 {
			k.round(ctx, false)
			wait, idle = k.untilDue()
		}
		timer.Stop()
		if !idle {
			timer.Reset(wait)
		}
	}
}

// stop returns the unused shares until no call is in flight. Shares that cannot be returned, because the ledger does
// not answer, expire.
func (k *Keeper) stop(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, k.options.StopTimeout+queryTimeout)
	defer cancel()
	ticker := time.NewTicker(behindPeriod)
	defer ticker.Stop()
	deadline := time.Now().Add(k.options.StopTimeout)
	for {
		if inFlight := k.round(ctx, true); !inFlight || !time.Now().Before(deadline) {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// untilDue returns the time until the next transaction, or that none is due.
func (k *Keeper) untilDue() (wait time.Duration, idle bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return time.Until(k.due), k.due.IsZero()
}

func (k *Keeper) Short(resource string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.exhausted[resource] || k.due.IsZero() {
		k.hurry()
	}
}

func (k *Keeper) Freed(string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.hurry()
}

func (k *Keeper) Started() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.due.IsZero() {
		k.hurry()
	}
}

// hurry makes the next transaction due as soon as possible. The lock must be held.
func (k *Keeper) hurry() {
	at := time.Now()
	if earliest := k.lastRound.Add(minInterval); earliest.After(at) {
		at = earliest
	}
	if !k.due.IsZero() && !k.due.After(at) {
		return
	}
	k.due = at
	select {
	case k.wake <- struct{}{}:
	default:
	}
}

// round makes one transaction for all resources of this replica. It reports whether calls are in flight, for which a
// stopping replica waits.
func (k *Keeper) round(ctx context.Context, stopping bool) (inFlight bool) {
	now := time.Now()
	k.begin(now)
	r := k.plan(now, stopping)
	if len(r.resources) == 0 {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	if err := k.options.Table.UpdateShares(ctx, k.replica, r.resources, keptFor, r.decide); err != nil {
		k.options.ReportError(fmt.Errorf("update the shares of %d resources: %w", len(r.resources), err))
		k.schedule(now, period)
		return r.inFlight()
	}
	if r.lapsed {
		k.recoveryUntil = now.Add(recoveryFor)
	}
	k.lastSuccess = now
	k.apply(r)
	return r.inFlight()
}

// begin marks the beginning of a transaction. A notification after it needs another transaction.
func (k *Keeper) begin(now time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.lastRound, k.due = now, time.Time{}
	clear(k.exhausted)
}

// schedule sets the next transaction, unless an earlier one is due.
func (k *Keeper) schedule(began time.Time, after time.Duration) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if at := began.Add(after); k.due.IsZero() || at.Before(k.due) {
		k.due = at
	}
}

// apply passes the new shares to the sources and schedules the next transaction.
func (k *Keeper) apply(r *round) {
	shares, behind := map[Source][]Share{}, false
	for _, d := range r.decisions {
		shares[d.source] = append(shares[d.source], d.share)
		behind = behind || d.behind
		if d.drop {
			delete(k.held, d.share.Resource)
		}
	}
	for source, list := range shares {
		source.Apply(list)
	}
	k.mu.Lock()
	for _, d := range r.decisions {
		k.exhausted[d.share.Resource] = d.share.Scarce
	}
	k.mu.Unlock()
	if !behind {
		k.behindSince = time.Time{}
	} else if k.behindSince.IsZero() {
		k.behindSince = r.now
	}
	switch {
	case behind && r.now.Sub(k.behindSince) < behindFor:
		k.schedule(r.now, behindPeriod)
	case len(k.held) > 0:
		k.schedule(r.now, period)
	}
}
