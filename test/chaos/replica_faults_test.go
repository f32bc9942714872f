// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"context"
	"fmt"
	"slices"
	"syscall"
	"time"

	"github.com/nestor-dev/nestor/internal/controller/agenttrigger"
	"github.com/nestor-dev/nestor/internal/engine"
	"github.com/nestor-dev/nestor/internal/fault"
)

// ofReplicas returns the faults of a run with several replicas. Cuts and suspensions end automatically while the next
// faults occur.
func (f *faultInjector) ofReplicas() []faultKind {
	list := []faultKind{
		{"a replica is killed", f.killReplica},
		{"all replicas are killed", f.killReplicas},
		{"a replica is suspended and resumed", f.suspendReplica},
		{"a replica loses the API server", f.cutAPI},
		{"a replica loses PostgreSQL", f.cutPostgres},
		{"a replica loses both", f.isolate},
		{"the rows of replicas are deleted", f.deleteReplicas},
		{"all replicas are replaced, one after the other", f.roll},
		{"replicas are added or removed", f.resize},
		{"PostgreSQL is killed", f.killPostgres},
		{"the API server restarts", f.restartAPIServer},
		{"the model fails", f.failModel},
		{"a tool fails", f.failTool},
		{"something is deleted", f.deleteNext},
		{"something is deleted while no operator is running", f.deleteWithoutOperator},
		{"an event of an agent is damaged", f.damage},
	}
	for _, point := range append(engine.Points(), agenttrigger.Points()...) {
		list = append(list, faultKind{"a replica dies " + string(point), func(ctx context.Context) error { return f.crashReplicaAt(ctx, point) }})
	}
	return list
}

// anyReplica returns one of the replicas.
func (f *faultInjector) anyReplica() *slot {
	slots := f.world.fleet.slots
	return slots[f.random.IntN(len(slots))]
}

// inBackground ends a fault after some time, while other faults occur.
func (f *faultInjector) inBackground(ctx context.Context, after time.Duration, end func()) {
	f.active.Add(1)
	f.background.Go(func() {
		defer f.active.Add(-1)
		pause(ctx, after)
		end()
	})
}

// longerThanLease returns a time in which the row of a replica expires.
func (f *faultInjector) longerThanLease() time.Duration {
	return f.world.settings.replicas.lease + f.between(300, 4000)
}

// killReplica kills a replica; sometimes its row expires before another one starts in its place.
func (f *faultInjector) killReplica(ctx context.Context) error {
	s := f.anyReplica()
	if err := s.running.Kill(); err != nil {
		return err
	}
	if f.random.IntN(2) == 0 {
		pause(ctx, f.world.settings.replicas.lease+f.between(300, 1500))
	}
	return f.world.fleet.start(ctx, s)
}

func (f *faultInjector) killReplicas(ctx context.Context) error {
	if err := f.world.fleet.killAll(); err != nil {
		return err
	}
	pause(ctx, f.between(0, 1000))
	return f.world.fleet.startAll(ctx)
}

// suspendReplica suspends a replica until others have taken over its shards.
func (f *faultInjector) suspendReplica(ctx context.Context) error {
	r := f.anyReplica().running
	if err := r.Signal(syscall.SIGSTOP); err != nil {
		return err
	}
	f.inBackground(ctx, f.longerThanLease(), func() { _ = r.Signal(syscall.SIGCONT) })
	return nil
}

func (f *faultInjector) cutAPI(ctx context.Context) error {
	s := f.anyReplica()
	f.cut(ctx, "the API server", s.api)
	return nil
}

func (f *faultInjector) cutPostgres(ctx context.Context) error {
	s := f.anyReplica()
	f.cut(ctx, "PostgreSQL", s.postgres)
	return nil
}

func (f *faultInjector) isolate(ctx context.Context) error {
	s := f.anyReplica()
	f.cut(ctx, "both", s.api, s.postgres)
	return nil
}

// cut cuts the network between a replica and servers for a while.
func (f *faultInjector) cut(ctx context.Context, what string, networks ...*proxy) {
	kind := cutKinds[f.random.IntN(len(cutKinds))]
	last := kind // connections that hang are lost or continue
	if kind == cutHang && f.random.IntN(2) == 0 {
		last = cutReset
	}
	f.counts[what+": "+kind]++
	f.world.logf("  %s: %s", what, kind)
	for _, p := range networks {
		p.cut(kind)
	}
	after := f.longerThanLease()
	if f.random.IntN(3) == 0 {
		after = f.between(200, 1500)
	}
	f.inBackground(ctx, after, func() {
		for _, p := range networks {
			if last == cutReset {
				p.cut(cutReset)
			}
			p.heal()
		}
	})
}

// deleteReplicas deletes the row of one of the replicas, or of all of them.
func (f *faultInjector) deleteReplicas(ctx context.Context) error {
	rows, err := f.world.ledger.Replicas(ctx)
	if err != nil || len(rows) == 0 {
		return err
	}
	all, one := f.random.IntN(2) == 0, f.random.IntN(1000)
	for i := range rows {
		if !all && i != one%len(rows) {
			continue
		}
		if err := f.world.ledger.LeaveReplicas(ctx, rows[i].ID); err != nil {
			return err
		}
	}
	return nil
}

// roll replaces all replicas, as a rolling update does: the new one is started before or after the old one ends.
func (f *faultInjector) roll(ctx context.Context) error {
	for _, old := range slices.Clone(f.world.fleet.slots) {
		first := f.random.IntN(2) == 0
		if first {
			if _, err := f.world.fleet.add(ctx); err != nil {
				return err
			}
			pause(ctx, f.between(0, 1500))
		}
		if err := f.world.fleet.terminate(ctx, old); err != nil {
			return err
		}
		if !first {
			if _, err := f.world.fleet.add(ctx); err != nil {
				return err
			}
		}
		pause(ctx, f.between(0, 1000))
	}
	return nil
}

func (f *faultInjector) resize(ctx context.Context) error {
	count := 1 + f.random.IntN(maxReplicas)
	if count == len(f.world.fleet.slots) {
		count = count%maxReplicas + 1
	}
	f.world.logf("  from %d to %d", len(f.world.fleet.slots), count)
	if err := f.world.fleet.resize(ctx, count); err != nil {
		return err
	}
	pause(ctx, f.between(0, 2000))
	return nil
}

// crashReplicaAt replaces a replica by one that crashes at a point, and that one by a healthy one.
func (f *faultInjector) crashReplicaAt(ctx context.Context, point engine.Point) error {
	s := f.anyReplica()
	if err := s.running.Kill(); err != nil {
		return err
	}
	if err := f.world.fleet.start(ctx, s, fmt.Sprintf("%s=%s:%d", fault.Variable, point, 1+f.random.IntN(4))); err != nil {
		return err
	}
	select {
	case <-s.running.Exited():
	case <-time.After(5 * time.Second): // there were not enough effects to reach the point
	}
	if err := s.running.Kill(); err != nil {
		return err
	}
	return f.world.fleet.start(ctx, s)
}

// healReplicas ends all faults and leaves the usual number of replicas. Those that survived the faults continue.
func (f *faultInjector) healReplicas(ctx context.Context) error {
	f.background.Wait()
	if err := f.world.fleet.startAll(ctx); err != nil {
		return err
	}
	if err := f.world.fleet.resize(ctx, f.world.settings.replicas.count); err != nil {
		return err
	}
	return f.world.fleet.waitForReady(ctx)
}
