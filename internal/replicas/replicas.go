// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package replicas

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/tools/leaderelection"
)

var (
	// ErrHandOver is the cause of the end of Own's context when another replica should own the shard, or when this replica stops. The Lease is held until Own
	// returns, so calls in flight may finish.
	ErrHandOver = errors.New("the shard is handed over")
	// ErrLeaseLost is the cause of the end of Own's context when the Lease could not be renewed in time or another process holds it. Own must stop at once.
	ErrLeaseLost = errors.New("the Lease of the shard was lost")
)

type Options struct {
	// Leases are those of the operator's namespace. The client must not limit its own rate (rest.Config.QPS -1): a renewal that waits is a shard that is lost.
	Leases coordinationv1client.LeaseInterface
	// Name is the name of this replica for people and for the name of its Lease, for example that of its pod.
	Name string
	// Address is where other replicas reach this one, published to them; it may be empty.
	Address string
	// Fingerprint identifies the key with which this replica authenticates itself to others, published to them; it may be empty.
	Fingerprint string
	// Shards is the number of shards. It must be the same in all replicas that run at the same time.
	Shards int
	// Own is called on its own goroutine while this replica holds the Lease of a shard, never twice at a time for one shard. It must return soon after ctx
	// ends, which may be before the call; the Lease is released then if it is still held. context.Cause(ctx) is ErrHandOver or ErrLeaseLost.
	// If Own returns before ctx ends, the Lease is released, and acquired again after a RetryPeriod.
	Own func(ctx context.Context, term Term)
	// Healthy reports whether this replica can reach the ledger; nil means always. It is called before each renewal of the member Lease and must not block.
	Healthy func() bool
	Timing  Timing
	// Owner is made the owner of all Leases, so that they are deleted with the installation; it may be nil.
	Owner *metav1.OwnerReference
	// Log receives what happens to shards.
	Log logr.Logger
}

type Timing struct {
	// LeaseDuration is how long a Lease is valid for others after a renewal, in whole seconds; 8 s by default.
	LeaseDuration time.Duration
	// RenewDeadline is how long the holder of a Lease acts after the start of its last successful renewal; 6 s by default. The rest of LeaseDuration
	// is the time that Own has to stop.
	RenewDeadline time.Duration
	// RetryPeriod is the time between renewals, and between attempts after a failure; 2 s by default.
	RetryPeriod time.Duration
}

type Term struct {
	Shard int
	// Expired reports that the previous holder did not release the Lease. It is not acting any more, because its context ended before the Lease expired
	// (a process that was suspended may not have noticed yet), but it may have left something undone. Otherwise it returned from Own after ErrHandOver, or there was none.
	Expired bool
	// Lost is closed when the Lease is lost, also during a hand-over, when the context has ended already.
	Lost <-chan struct{}
}

type Member struct {
	// ID is unique to the process.
	ID string
	// Name, Address and Fingerprint are those of its Options.
	Name, Address, Fingerprint string
}

// Stats says what this replica holds and has done since it started.
type Stats struct {
	// Held is the number of shards whose Lease this replica holds now.
	Held int
	// HandedOver counts the shards that this replica released for another one.
	HandedOver int
	// Received counts the shards that this replica acquired after another one released them.
	Received int
	// TakenOver counts the shards that this replica acquired because their Lease had expired.
	TakenOver int
	// Lost counts the shards whose Lease this replica lost.
	Lost int
}

// Replicas is this replica's part in dividing the shards.
type Replicas struct {
	options Options
	self    Member
	lease   string // name of the member Lease
	wake    chan struct{}
	renew   chan struct{} // renew the member Lease now
	written chan string   // the state that was last written to it

	mu       sync.Mutex
	view     *view
	stopping bool
	terms    map[int]*term
	retry    map[int]retryAt
	stats    Stats
	onChange []func()
	reported []Member // members, then holders
	running  sync.WaitGroup
}

// retryAt is when a shard may be tried again. A change of its Lease makes that earlier, unless its owner gave up by itself.
type retryAt struct {
	at   time.Time
	firm bool
}

// New returns a replica, which takes part when it is started.
func New(options Options) *Replicas {
	if options.Timing == (Timing{}) {
		options.Timing = Timing{LeaseDuration: 8 * time.Second, RenewDeadline: 6 * time.Second, RetryPeriod: 2 * time.Second}
	}
	if options.Healthy == nil {
		options.Healthy = func() bool { return true }
	}
	suffix := rand.Text()[:8]
	self := Member{ID: options.Name + "_" + suffix, Name: options.Name, Address: options.Address, Fingerprint: options.Fingerprint}
	return &Replicas{
		options: options, self: self, lease: memberName(options.Name, suffix),
		wake: make(chan struct{}, 1), renew: make(chan struct{}, 1), written: make(chan string, 1),
		view: newView(self.ID, options.Shards, options.Timing), terms: map[int]*term{}, retry: map[int]retryAt{},
	}
}

// NeedLeaderElection reports that all replicas run this; it implements manager.LeaderElectionRunnable.
func (*Replicas) NeedLeaderElection() bool { return false }

func (r *Replicas) Self() Member { return r.self }

// Members returns the live replicas by ID, this one included.
func (r *Replicas) Members() []Member {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.members(time.Now())
}

func (r *Replicas) members(now time.Time) []Member {
	var members []Member
	for _, m := range r.view.liveMembers(now) {
		members = append(members, m.Member)
	}
	return members
}

// Holder returns the live replica that holds the Lease of a shard, and whether there is one.
func (r *Replicas) Holder(shard int) (Member, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	m := r.holder(shard, time.Now())
	return m, m.ID != ""
}

func (r *Replicas) holder(shard int, now time.Time) Member {
	if t := r.terms[shard]; t != nil && t.owning {
		return r.self
	}
	if a, _ := r.view.available(shard, now); a != held {
		return Member{}
	}
	for _, m := range r.view.liveMembers(now) {
		if m.ID == r.view.shards[shard].holder {
			return m.Member
		}
	}
	return Member{}
}

func (r *Replicas) Stats() Stats {
	r.mu.Lock()
	defer r.mu.Unlock()
	stats := r.stats
	for _, t := range r.terms {
		if t.owning {
			stats.Held++
		}
	}
	return stats
}

// OnChange adds a function that is called when Members or Holder return something new. It must not block.
func (r *Replicas) OnChange(f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.onChange = append(r.onChange, f)
}

// Start takes part until ctx ends; then it hands over all shards and returns when that is done. It implements manager.Runnable.
func (r *Replicas) Start(ctx context.Context) error {
	if err := r.options.Timing.validate(); err != nil {
		return err
	}
	base, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	var background sync.WaitGroup
	background.Go(func() { r.renewMember(base) })
	background.Go(func() { r.watch(base) })
	r.coordinate(ctx, base)
	r.announceStop(base)
	r.handOverAll()
	r.running.Wait()
	end()
	background.Wait()
	return r.leave(context.WithoutCancel(ctx))
}

func (t Timing) validate() error {
	if t.LeaseDuration <= 0 || t.LeaseDuration%time.Second != 0 {
		return fmt.Errorf("the lease duration %s is not in whole seconds", t.LeaseDuration)
	}
	if t.LeaseDuration <= t.RenewDeadline || t.RenewDeadline <= time.Duration(leaderelection.JitterFactor*float64(t.RetryPeriod)) || t.RetryPeriod <= 0 {
		return fmt.Errorf("not lease duration %s > renew deadline %s > %g * retry period %s",
			t.LeaseDuration, t.RenewDeadline, leaderelection.JitterFactor, t.RetryPeriod)
	}
	return nil
}

// coordinate takes and hands over shards whenever the assignment or the held shards change.
func (r *Replicas) coordinate(ctx, base context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.wake:
		case <-timer.C:
		}
		timer.Reset(time.Until(r.reconcile(base)))
		r.report()
	}
}

// reconcile takes and hands over shards, and returns when to do that again if nothing happens before.
func (r *Replicas) reconcile(base context.Context) time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	if r.view.blind(now) {
		return now.Add(r.options.Timing.LeaseDuration) // or when this replica sees its own renewal
	}
	next := r.view.nextChange(now)
	taking, giving := r.view.assignment(now)
	for shard, t := range r.terms {
		if taking[shard] != r.self.ID && taking[shard] == giving[shard] {
			t.handOver()
		}
	}
	for shard, member := range taking {
		if r.terms[shard] == nil {
			next = earlier(next, r.tryShard(base, shard, member == r.self.ID, now))
		}
	}
	r.sweep(base, now)
	return next
}

// tryShard begins a term for a shard that has none if it is available, and returns when to try again otherwise. A shard that is assigned to
// another replica is only released, if this one is the holder in its Lease: an attempt that seemed to fail may have succeeded.
func (r *Replicas) tryShard(base context.Context, shard int, assigned bool, now time.Time) time.Time {
	at, until := r.view.available(shard, now)
	if at == mine && !assigned {
		until = r.view.shards[shard].changed.Add(r.options.Timing.RetryPeriod) // a watch that lags after a release is the usual reason
	} else if !assigned {
		return now.Add(r.options.Timing.LeaseDuration)
	}
	if retry := r.retry[shard]; retry.at.After(until) {
		until = retry.at
	}
	if until.After(now) {
		return until
	}
	delete(r.retry, shard)
	t := r.newTerm(base, shard, at)
	r.terms[shard] = t
	if assigned {
		r.running.Go(t.run)
	} else {
		r.running.Go(t.abandon)
	}
	return now.Add(r.options.Timing.LeaseDuration)
}

func (r *Replicas) ended(t *term, again retryAt) {
	r.mu.Lock()
	delete(r.terms, t.Shard)
	if !again.at.IsZero() {
		r.retry[t.Shard] = again
	}
	r.mu.Unlock()
	r.notify()
}

func (r *Replicas) observed(record func(v *view, now time.Time) bool) {
	r.mu.Lock()
	news := record(r.view, time.Now())
	r.mu.Unlock()
	if news {
		r.notify()
	}
}

// observe records one Lease; a shard may be tried again when its Lease changes.
func (r *Replicas) observe(lease *coordinationv1.Lease) {
	r.observed(func(v *view, now time.Time) bool {
		news := v.observe(lease, now)
		if shard, ok := v.shardOf(lease.Name); ok && news && !r.retry[shard].firm {
			delete(r.retry, shard)
		}
		return news
	})
}

func (r *Replicas) notify() {
	select {
	case r.wake <- struct{}{}:
	default: // it will look anyway
	}
}

// report calls the functions of OnChange if there is something new.
func (r *Replicas) report() {
	r.mu.Lock()
	now := time.Now()
	current := r.members(now)
	for shard := range r.options.Shards {
		current = append(current, r.holder(shard, now))
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

func (r *Replicas) handOverAll() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, t := range r.terms {
		t.handOver()
	}
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}
