// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package replicas

import (
	"context"
	"crypto/rand"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"

	"github.com/nestor-dev/nestor/internal/ledger"
)

const (
	// DefaultLeaseDuration is how long the shards of an operator that has died stay without an owner.
	DefaultLeaseDuration = 8 * time.Second
	// maxReadInterval bounds the time between two reads of the rows, and with it how long a hand-over takes.
	maxReadInterval = 500 * time.Millisecond
	// healthChanges is after how many renewals in a row with another health the published state changes.
	healthChanges = 3
)

type Options struct {
	Ledger ledger.Shards
	// ID identifies this process among the operators of the ledger. It is NewID of Name, or another one that begins with
	// the name and "_".
	ID string
	// Name is the name of this operator for people. It must be the same after a restart, and unique among the operators
	// that run.
	Name string
	// Address is where other operators reach this one, and Fingerprint identifies the key with which it authenticates
	// itself to them. Both are published to them, and may be empty.
	Address, Fingerprint string
	// Shards is the number of shards.
	Shards int
	// Own is called on its own goroutine for a shard that is assigned to this operator and has no live owner, never twice
	// at a time for one shard. It takes the shard, keeps it until ctx ends, and then releases it. It returns earlier when
	// another operator has taken the shard.
	Own func(ctx context.Context, shard int)
	// Healthy reports whether this operator can reach the API server; nil means always. It must not block.
	Healthy func() bool
	// LeaseDuration is how long others regard this operator as live after a renewal.
	LeaseDuration time.Duration
	Log           logr.Logger
}

// Member is a live operator.
type Member struct {
	ID, Name, Address, Fingerprint string
}

// Stats describes what this operator holds and has done since it started.
type Stats struct {
	// Held is the number of shards that this operator owns, or is taking over or handing over.
	Held int
	// HandedOver counts the shards that this operator released for another one.
	HandedOver int
	// Received counts the shards that this operator took after another one released them.
	Received int
	// TakenOver counts the shards that this operator took because their owner's row had expired.
	TakenOver int
	// Lost counts the shards that another operator took from this one.
	Lost int
}

// Replicas is this operator's part in dividing the shards.
type Replicas struct {
	options Options
	self    ledger.Replica
	wake    chan struct{}
	running sync.WaitGroup

	mu       sync.Mutex
	rows     []ledger.Replica
	owners   map[int]ledger.ShardOwner // by index
	terms    map[int]context.CancelFunc
	stats    Stats
	onChange []func()
	reported []Member // members, then holders

	// The following fields belong to Start.

	joined bool
	// renewed is when the last successful renewal began, and next when to renew again.
	renewed, next time.Time
	// quietUntil is when this operator may take and hand over shards again after an outage.
	quietUntil time.Time
	differs    int // how often in a row the health was not as published
	failing    bool
}

// NewID returns an ID for a process with this name.
func NewID(name string) string { return name + "_" + rand.Text()[:8] }

// New returns a replica, which takes part when it is started.
func New(options Options) *Replicas {
	if options.LeaseDuration == 0 {
		options.LeaseDuration = DefaultLeaseDuration
	}
	if options.Healthy == nil {
		options.Healthy = func() bool { return true }
	}
	return &Replicas{
		options: options, wake: make(chan struct{}, 1), terms: map[int]context.CancelFunc{},
		self: ledger.Replica{ID: options.ID, Name: options.Name, Address: options.Address, Fingerprint: options.Fingerprint, State: ledger.ReplicaActive},
	}
}

func (r *Replicas) Self() Member { return member(&r.self) }

func member(row *ledger.Replica) Member {
	return Member{ID: row.ID, Name: row.Name, Address: row.Address, Fingerprint: row.Fingerprint}
}

// Members returns the live operators by ID, this one included.
func (r *Replicas) Members() []Member {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.members()
}

func (r *Replicas) members() []Member {
	var members []Member
	for i := range r.rows {
		if r.rows[i].Live() {
			members = append(members, member(&r.rows[i]))
		}
	}
	return members
}

// Holder returns the live operator that owns a shard, and whether there is one.
func (r *Replicas) Holder(shard int) (Member, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	m := r.holder(shard)
	return m, m.ID != ""
}

func (r *Replicas) holder(shard int) Member {
	if r.terms[shard] != nil {
		return r.Self()
	}
	owner := r.owners[shard]
	for i := range r.rows {
		if owner.Live && r.rows[i].ID == owner.Name && r.rows[i].Live() {
			return member(&r.rows[i])
		}
	}
	return Member{}
}

func (r *Replicas) Stats() Stats {
	r.mu.Lock()
	defer r.mu.Unlock()
	stats := r.stats
	stats.Held = len(r.terms)
	return stats
}

// OnChange adds a function that is called when the result of Members or Holder changes. It must not block.
func (r *Replicas) OnChange(f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.onChange = append(r.onChange, f)
}

// Start takes part until ctx ends; then it hands over all shards and returns when that is done.
func (r *Replicas) Start(ctx context.Context) error {
	base, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	for ctx.Err() == nil {
		r.step(base)
		r.pause(ctx.Done())
	}
	r.self.State, r.next = ledger.ReplicaStopping, time.Time{}
	r.mu.Lock()
	for _, handOver := range r.terms {
		handOver()
	}
	r.mu.Unlock()
	done := make(chan struct{})
	go func() {
		defer close(done)
		r.running.Wait()
	}()
	for waiting := true; waiting; {
		_ = r.renew(base) // the shards that are being handed over are not taken before they are released
		r.pause(done)
		select {
		case <-done:
			waiting = false
		default:
		}
	}
	leaving, cancel := context.WithTimeout(base, r.renewInterval())
	defer cancel()
	if err := r.options.Ledger.LeaveReplicas(leaving, r.self.ID); err != nil {
		r.options.Log.Error(err, "The row of this replica stays until it expires")
	}
	return nil
}

func (r *Replicas) renewInterval() time.Duration { return r.options.LeaseDuration / 4 }

// grace bounds the time between the first and the last operator that detect an outage, or the end of one, of the
// database or the API server.
func (r *Replicas) grace() time.Duration { return 2 * r.renewInterval() }

// pause waits until the rows are to be read again.
func (r *Replicas) pause(done <-chan struct{}) {
	select {
	case <-done:
	case <-r.wake:
	case <-time.After(min(maxReadInterval, r.renewInterval()/4)):
	}
}

// step renews the row of this operator when it is time, reads all rows, and takes and hands over shards.
func (r *Replicas) step(base context.Context) {
	err := r.renew(base)
	if err == nil {
		err = r.read(base)
	}
	if err != nil && !r.failing {
		r.options.Log.Error(err, "Cannot renew or read the rows of the replicas")
	}
	if r.failing = err != nil; err != nil {
		return
	}
	if time.Now().After(r.quietUntil) {
		r.divide(base)
	}
	r.report()
}

func (r *Replicas) renew(base context.Context) error {
	started := time.Now()
	if started.Before(r.next) {
		return nil
	}
	r.checkHealth()
	ctx, cancel := context.WithTimeout(base, r.renewInterval())
	defer cancel()
	save := r.options.Ledger.RenewReplica
	if !r.joined {
		save = r.options.Ledger.JoinReplicas
	}
	if err := save(ctx, r.self, r.options.LeaseDuration); err != nil {
		return err
	}
	// The monotonic clock does not advance while a machine is suspended.
	if r.joined && started.Round(0).Sub(r.renewed.Round(0)) >= r.options.LeaseDuration {
		r.quietUntil = time.Now().Add(r.grace())
	}
	r.joined, r.renewed, r.next = true, started, started.Add(r.renewInterval())
	return nil
}

// checkHealth changes the published state after healthChanges results that differ from it.
func (r *Replicas) checkHealth() {
	state := ledger.ReplicaActive
	if !r.options.Healthy() {
		state = ledger.ReplicaUnhealthy
	}
	if r.self.State == ledger.ReplicaStopping || r.self.State == state {
		r.differs = 0
		return
	}
	if r.differs++; r.differs >= healthChanges {
		r.self.State, r.differs = state, 0
	}
}

func (r *Replicas) read(base context.Context) error {
	ctx, cancel := context.WithTimeout(base, r.renewInterval())
	defer cancel()
	rows, err := r.options.Ledger.Replicas(ctx)
	if err != nil {
		return err
	}
	owners, err := r.options.Ledger.Owners(ctx)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rows, r.owners = rows, make(map[int]ledger.ShardOwner, len(owners))
	for id, owner := range owners {
		r.owners[id-ledger.FirstShard] = owner
	}
	return nil
}

// divide takes and hands over shards. It also releases shards of this operator that have no term: those for which an
// earlier request to take or release them appeared to fail.
func (r *Replicas) divide(base context.Context) {
	var left []ledger.Fence
	defer func() {
		for _, own := range left {
			_ = r.options.Ledger.Release(base, own) // tried again after the next read
		}
	}()
	r.mu.Lock()
	defer r.mu.Unlock()
	for shard, id := range assign(eligible(r.rows, r.grace()), r.options.Shards) {
		handOver, owner := r.terms[shard], r.owners[shard]
		switch {
		case handOver != nil && id != r.self.ID:
			handOver()
		case handOver == nil && id == r.self.ID && (!owner.Live || owner.Name == r.self.ID):
			r.begin(base, shard, owner)
		case handOver == nil && owner.Live && owner.Name == r.self.ID:
			left = append(left, ledger.Fence{Shard: ledger.FirstShard + shard, Epoch: owner.Epoch})
		}
	}
}

func (r *Replicas) begin(base context.Context, shard int, before ledger.ShardOwner) {
	ctx, handOver := context.WithCancel(base)
	r.terms[shard] = handOver
	log := r.options.Log.V(1)
	switch {
	case before.Name == "" || before.Name == r.self.ID:
	case before.Released:
		r.stats.Received++
	default:
		r.stats.TakenOver++
		log = r.options.Log
	}
	log.Info("Takes a shard", "shard", shard, "previousOwner", before.Name, "released", before.Released)
	r.running.Go(func() {
		r.options.Own(ctx, shard)
		handedOver := ctx.Err() != nil
		handOver()
		r.mu.Lock()
		delete(r.terms, shard)
		if handedOver {
			r.stats.HandedOver++
		} else {
			r.stats.Lost++
		}
		r.mu.Unlock()
		select {
		case r.wake <- struct{}{}:
		default:
		}
	})
}

// eligible returns the IDs of the operators that may own shards: the live ones that are not stopping, without the
// unhealthy ones if there is a healthy one. Only states that have lasted for grace count: operators detect one after
// the other that the API server fails or returns, and no shard should move meanwhile.
func eligible(rows []ledger.Replica, grace time.Duration) []string {
	var all, healthy []string
	move := false
	for i := range rows {
		row := &rows[i]
		if !row.Live() || row.State == ledger.ReplicaStopping {
			continue
		}
		steady := row.Steady >= grace
		all = append(all, row.ID)
		if row.State != ledger.ReplicaUnhealthy || !steady {
			healthy = append(healthy, row.ID)
		}
		move = move || row.State != ledger.ReplicaUnhealthy && steady
	}
	if move {
		return healthy
	}
	return all
}

// report calls the functions of OnChange after a change.
func (r *Replicas) report() {
	r.mu.Lock()
	current := r.members()
	for shard := range r.options.Shards {
		current = append(current, r.holder(shard))
	}
	var call []func()
	if !slices.Equal(current, r.reported) {
		call = slices.Clone(r.onChange)
	}
	r.reported = current
	r.mu.Unlock()
	for _, f := range call {
		f()
	}
}
