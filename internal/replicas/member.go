// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package replicas

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// healthChanges is after how many renewals in a row with another health the published state changes.
const healthChanges = 3

// renewMember creates and renews the member Lease of this replica until ctx ends.
func (r *Replicas) renewMember(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	var lease *coordinationv1.Lease
	health := health{healthy: true, differs: healthChanges - 1} // the first look counts
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.renew:
		case <-timer.C:
			health.check(r.options.Healthy())
		}
		state := r.state(health)
		var err error
		lease, err = r.writeMember(ctx, lease, state)
		if err == nil {
			r.announce(state)
		} else if ctx.Err() == nil {
			r.options.Log.Error(err, "Cannot renew the Lease of this replica", "Lease", r.lease)
		}
		timer.Reset(jittered(r.options.Timing.RetryPeriod))
	}
}

// health is what this replica publishes about its way to the ledger, which single failures do not change.
type health struct {
	healthy bool
	differs int
}

func (h *health) check(healthy bool) {
	if healthy == h.healthy {
		h.differs = 0
		return
	}
	if h.differs++; h.differs >= healthChanges {
		h.healthy, h.differs = healthy, 0
	}
}

func (r *Replicas) state(h health) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.stopping:
		return stopping
	case !h.healthy:
		return unhealthy
	default:
		return active
	}
}

// writeMember writes the member Lease and returns it as it was written, or nil if it has to be read or created the next time.
func (r *Replicas) writeMember(ctx context.Context, lease *coordinationv1.Lease, state string) (*coordinationv1.Lease, error) {
	ctx, cancel := context.WithTimeout(ctx, r.options.Timing.RetryPeriod)
	defer cancel()
	if lease == nil {
		existing, err := r.options.Leases.Get(ctx, r.lease, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			lease = r.newLease(r.lease, memberLease)
			r.describe(lease, state)
			return written(r.options.Leases.Create(ctx, lease, metav1.CreateOptions{}))
		}
		if err != nil {
			return nil, err
		}
		lease = existing
	}
	lease = lease.DeepCopy()
	r.describe(lease, state)
	lease, err := written(r.options.Leases.Update(ctx, lease, metav1.UpdateOptions{}))
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		r.kick()
	}
	return lease, err
}

// written drops the empty object that comes with an error.
func written(lease *coordinationv1.Lease, err error) (*coordinationv1.Lease, error) {
	if err != nil {
		return nil, err
	}
	return lease, nil
}

func (r *Replicas) describe(lease *coordinationv1.Lease, state string) {
	lease.Annotations = map[string]string{
		nameAnnotation: r.self.Name, addressAnnotation: r.self.Address, fingerprintAnnotation: r.self.Fingerprint, stateAnnotation: state,
	}
	lease.Labels = map[string]string{leaseLabel: memberLease}
	seconds := int32(r.options.Timing.LeaseDuration / time.Second)
	now := metav1.NowMicro()
	lease.Spec.HolderIdentity, lease.Spec.LeaseDurationSeconds, lease.Spec.RenewTime = &r.self.ID, &seconds, &now
	if lease.Spec.AcquireTime == nil {
		lease.Spec.AcquireTime = &now
	}
	lease.Annotations[shardsAnnotation] = strconv.Itoa(r.options.Shards)
}

func (r *Replicas) newLease(name, label string) *coordinationv1.Lease {
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{leaseLabel: label}}}
	r.setOwner(lease)
	return lease
}

func (r *Replicas) setOwner(lease *coordinationv1.Lease) {
	if r.options.Owner != nil {
		lease.OwnerReferences = []metav1.OwnerReference{*r.options.Owner}
	}
}

// kick renews the member Lease now.
func (r *Replicas) kick() {
	select {
	case r.renew <- struct{}{}:
	default:
	}
}

// announce keeps the state that others can see now.
func (r *Replicas) announce(state string) {
	select {
	case <-r.written:
	default:
	}
	r.written <- state
}

// announceStop publishes that this replica stops, so that others take its shards as soon as it releases them. Without the API server it does not wait for long:
// the shards are handed over by expiry then.
func (r *Replicas) announceStop(ctx context.Context) {
	r.mu.Lock()
	r.stopping = true
	r.mu.Unlock()
	r.kick()
	ctx, cancel := context.WithTimeout(ctx, r.options.Timing.RetryPeriod)
	defer cancel()
	for {
		select {
		case <-ctx.Done():
			return
		case state := <-r.written:
			if state == stopping {
				return
			}
		}
	}
}

// leave deletes the member Lease.
func (r *Replicas) leave(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, r.options.Timing.RetryPeriod)
	defer cancel()
	if err := r.options.Leases.Delete(ctx, r.lease, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		r.options.Log.Error(err, "The Lease of this replica stays until another one deletes it", "Lease", r.lease)
	}
	return nil
}

// sweep deletes the Lease of a member that has been dead for long. Only the first of the live members does that.
func (r *Replicas) sweep(ctx context.Context, now time.Time) {
	m := r.view.dead(now)
	if m == nil || r.view.liveMembers(now)[0].ID != r.self.ID {
		return
	}
	m.swept = now
	name := m.lease.Name
	options := metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &m.lease.UID, ResourceVersion: &m.lease.ResourceVersion}}
	r.running.Go(func() {
		ctx, cancel := context.WithTimeout(ctx, r.options.Timing.RetryPeriod)
		defer cancel()
		if err := r.options.Leases.Delete(ctx, name, options); err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			r.options.Log.Error(err, "Cannot delete the Lease of a dead replica", "Lease", name)
		}
	})
}

// watch keeps the view current until ctx ends.
func (r *Replicas) watch(ctx context.Context) {
	for ctx.Err() == nil {
		if err := r.follow(ctx); err != nil && ctx.Err() == nil {
			r.options.Log.Error(err, "Cannot watch the Leases of the replicas")
		}
		select {
		case <-ctx.Done():
		case <-time.After(jittered(r.options.Timing.RetryPeriod / 2)):
		}
	}
}

// follow lists and watches the Leases until the watch ends. A watch in which this replica's own renewals do not appear is broken, and given up.
func (r *Replicas) follow(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	silence := time.AfterFunc(r.options.Timing.LeaseDuration, cancel)
	defer silence.Stop()
	list, err := r.options.Leases.List(ctx, metav1.ListOptions{LabelSelector: leaseLabel})
	if err != nil {
		return fmt.Errorf("list the Leases: %w", err)
	}
	r.observed(func(v *view, now time.Time) bool { return v.replace(list.Items, now) })
	events, err := r.options.Leases.Watch(ctx, metav1.ListOptions{LabelSelector: leaseLabel, ResourceVersion: list.ResourceVersion})
	if err != nil {
		return fmt.Errorf("watch the Leases: %w", err)
	}
	defer events.Stop()
	for event := range events.ResultChan() {
		lease, ok := event.Object.(*coordinationv1.Lease)
		if !ok {
			return fmt.Errorf("watch the Leases: %w", apierrors.FromObject(event.Object))
		}
		if event.Type == watch.Deleted {
			r.deleted(lease)
			continue
		}
		if lease.Name == r.lease {
			silence.Reset(r.options.Timing.LeaseDuration)
		}
		r.observe(lease)
	}
	return nil
}

// deleted records that a Lease was deleted. If it is this replica's, it is created again at once.
func (r *Replicas) deleted(lease *coordinationv1.Lease) {
	r.observed(func(v *view, now time.Time) bool {
		if shard, ok := v.shardOf(lease.Name); ok && r.terms[shard] != nil {
			r.running.Go(r.terms[shard].recreate)
		}
		return v.forget(lease.Name, now)
	})
	if lease.Name == r.lease {
		r.kick()
	}
}

func memberName(name, suffix string) string {
	name = strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' {
			return c
		}
		return '-'
	}, strings.ToLower(name))
	return memberPrefix + name[:min(len(name), 200)] + "-" + strings.ToLower(suffix)
}

// jittered returns a duration within a tenth of d, so that replicas do not act in step.
func jittered(d time.Duration) time.Duration {
	return time.Duration(float64(d) * (0.9 + 0.2*rand.Float64()))
}
