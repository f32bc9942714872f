// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/internal/controller/agenttrigger"
	"github.com/nestor-dev/nestor/internal/engine"
	"github.com/nestor-dev/nestor/internal/fault"
)

// faultInjector injects faults, one after the other.
type faultInjector struct {
	world  *world
	random *rand.Rand
	counts map[string]int
	// active counts the faults in the background.
	active     atomic.Int32
	background sync.WaitGroup
	// damaged are the UIDs of the agents with damaged events.
	damaged map[string]bool
}

func newFaults(w *world) *faultInjector {
	return &faultInjector{world: w, random: w.settings.random("faults"), counts: map[string]int{}, damaged: map[string]bool{}}
}

// faultKind is one kind of fault. An error means that the test itself cannot continue.
type faultKind struct {
	name   string
	inject func(context.Context) error
}

func (f *faultInjector) all() []faultKind {
	if f.world.fleet != nil {
		return f.ofReplicas()
	}
	list := []faultKind{
		{"the operator is killed", f.killOperator},
		{"a second operator runs for a while", f.runSecondOperator},
		{"a successor starts before the operator ends", f.overlap},
		{"the operator is suspended, superseded and resumed", f.freeze},
		{"the API server restarts", f.restartAPIServer},
		{"the model fails", f.failModel},
		{"the model fails", f.failModel},
		{"a tool fails", f.failTool},
		{"a tool fails", f.failTool},
		{"something is deleted", f.deleteNext},
		{"something is deleted while no operator is running", f.deleteWithoutOperator},
		{"an event of an agent is damaged", f.damage},
	}
	for _, point := range engine.Points() {
		list = append(list, faultKind{"the operator dies " + string(point), func(ctx context.Context) error { return f.crashAt(ctx, point, 20) }})
	}
	for _, point := range agenttrigger.Points() {
		list = append(list, faultKind{"the operator dies " + string(point), func(ctx context.Context) error { return f.crashAt(ctx, point, 3) }})
	}
	if f.world.stack.Postgres != nil {
		list = append(list, faultKind{"PostgreSQL is killed", f.killPostgres})
	}
	if f.world.disk != "" {
		list = append(list, faultKind{"the ledger's disk is full", f.fillDisk})
	}
	return list
}

// run injects faults until the time is over: each kind once, in an order that depends on the seed, and then again. A
// short run injects only the first ones.
func (f *faultInjector) run(ctx context.Context, duration time.Duration) error {
	end := time.Now().Add(duration)
	for {
		round := f.all()
		f.random.Shuffle(len(round), func(i, j int) { round[i], round[j] = round[j], round[i] })
		for _, m := range round {
			if time.Now().After(end) {
				return f.heal(ctx)
			}
			if f.world.fleet != nil {
				if err := f.world.fleet.revive(ctx); err != nil {
					return err
				}
			}
			f.world.logf("%s", m.name)
			f.counts[m.name]++
			if err := m.inject(ctx); err != nil {
				return fmt.Errorf("%s: %w", m.name, err)
			}
			pause(ctx, f.between(50, 500))
		}
	}
}

func (f *faultInjector) between(from, to int) time.Duration {
	return time.Duration(from+f.random.IntN(to-from)) * time.Millisecond
}

// heal ends all faults, deletes what is still to be deleted, and leaves one healthy, new operator, or several replicas.
func (f *faultInjector) heal(ctx context.Context) error {
	f.world.tools.heal()
	if f.world.fleet == nil {
		if err := f.kill(); err != nil {
			return err
		}
	}
	for f.nextToDelete() != nil {
		if err := f.deleteNext(ctx); err != nil {
			return err
		}
	}
	if f.world.fleet != nil {
		return f.healReplicas(ctx)
	}
	return f.start(ctx)
}

// start starts the operator, or all replicas, and waits until they are ready.
func (f *faultInjector) start(ctx context.Context) error {
	fleet := f.world.fleet
	if fleet == nil {
		return f.world.stack.StartOperator(ctx)
	}
	if err := fleet.startAll(ctx); err != nil {
		return err
	}
	if len(fleet.slots) > 0 { // others may have no network
		return nil
	}
	if err := fleet.resize(ctx, f.world.settings.replicas.count); err != nil {
		return err
	}
	return fleet.waitForReady(ctx)
}

// kill kills the operator, or all replicas.
func (f *faultInjector) kill() error {
	if f.world.fleet != nil {
		return f.world.fleet.killAll()
	}
	return f.world.stack.Operator.Kill()
}

func (f *faultInjector) killOperator(ctx context.Context) error {
	if err := f.kill(); err != nil {
		return err
	}
	pause(ctx, f.between(0, 300))
	return f.start(ctx)
}

// crashAt replaces the operator by one that crashes at a point, at most at the given time, and that one by a healthy
// one.
func (f *faultInjector) crashAt(ctx context.Context, point engine.Point, most int) error {
	if err := f.kill(); err != nil {
		return err
	}
	armed := fmt.Sprintf("%s=%s:%d", fault.Variable, point, 1+f.random.IntN(most))
	if err := f.world.stack.LaunchOperator(ctx, armed); err != nil {
		return err
	}
	select {
	case <-f.world.stack.Operator.Exited():
	case <-time.After(3 * time.Second): // there were not enough effects to reach the point
	}
	return f.killOperator(ctx)
}

// runSecondOperator runs a second operator, which takes over. When it is killed, the first one continues, unless that
// was killed before.
func (f *faultInjector) runSecondOperator(ctx context.Context) error {
	rival, err := f.world.stack.LaunchRival()
	if err != nil {
		return err
	}
	pause(ctx, f.between(1500, 3500))
	if f.random.IntN(2) == 0 {
		if err := f.killOperator(ctx); err != nil {
			return err
		}
	}
	return rival.Kill()
}

// overlap starts a successor while the operator is still running, as when a pod is deleted with force.
func (f *faultInjector) overlap(ctx context.Context) error {
	old := f.world.stack.Operator
	if err := f.world.stack.LaunchOperator(ctx); err != nil {
		return err
	}
	pause(ctx, f.between(0, 3000))
	if f.random.IntN(2) == 0 {
		f.counts["the predecessor is killed"]++
		if err := old.Kill(); err != nil {
			return err
		}
		return f.world.stack.AwaitReady(ctx)
	}
	select {
	case <-old.Exited(): // it gave up because of earlier faults
		return f.world.stack.AwaitReady(ctx)
	default:
	}
	f.counts["the predecessor is terminated"]++
	if err := old.Terminate(ctx); err != nil {
		return fmt.Errorf("the operator did not exit cleanly: %w\n%s", err, f.world.stack.OperatorLog())
	}
	return f.world.stack.AwaitReady(ctx)
}

// freeze suspends the operator, so that it does not answer but keeps all its connections, and resumes it when another
// one has taken over. Then one of the two is killed, and the other continues.
func (f *faultInjector) freeze(ctx context.Context) error {
	old := f.world.stack.Operator
	if err := old.Signal(syscall.SIGSTOP); err != nil {
		return err
	}
	if err := f.world.stack.LaunchOperator(ctx); err != nil {
		return err
	}
	pause(ctx, f.between(5500, 7500))
	if err := old.Signal(syscall.SIGCONT); err != nil {
		return err
	}
	pause(ctx, f.between(0, 1500))
	if f.random.IntN(2) == 0 {
		return old.Kill()
	}
	f.counts["the successor is killed, and the resumed operator continues"]++
	if err := f.kill(); err != nil {
		return err
	}
	pause(ctx, f.between(500, 2000))
	if err := old.Kill(); err != nil {
		return err
	}
	return f.world.stack.StartOperator(ctx)
}

func (f *faultInjector) restartAPIServer(ctx context.Context) error {
	recovered := func(context.Context) error { return nil }
	var failed error
	err := f.world.stack.Cluster.RestartAPIServer(ctx, func() {
		pause(ctx, f.between(0, 1000))
		if restart, err := f.maybeRestart(ctx); err == nil {
			recovered = restart
		} else {
			failed = err
		}
	})
	if err := errors.Join(err, failed); err != nil {
		return err
	}
	return recovered(ctx)
}

func (f *faultInjector) killPostgres(ctx context.Context) error {
	if err := f.world.stack.Postgres.Kill(); err != nil {
		return err
	}
	pause(ctx, f.between(0, 1500))
	recovered, err := f.maybeRestart(ctx)
	if err != nil {
		return err
	}
	if err := f.world.stack.Postgres.Start(ctx); err != nil {
		return err
	}
	return recovered(ctx)
}

// maybeRestart kills the operator in the middle of another fault, every other time, and starts a new one. The returned
// function is called after the fault: it starts another operator if the new one gave up, as a cluster would.
func (f *faultInjector) maybeRestart(ctx context.Context) (recovered func(context.Context) error, err error) {
	if f.random.IntN(2) == 0 {
		return func(context.Context) error { return nil }, nil
	}
	if f.world.fleet != nil {
		f.counts["a replica is killed in the middle of it"]++
		return func(context.Context) error { return nil }, f.killReplica(ctx)
	}
	f.counts["the operator is killed in the middle of it"]++
	if err := f.kill(); err != nil {
		return nil, err
	}
	if err := f.world.stack.LaunchOperator(ctx); err != nil {
		return nil, err
	}
	pause(ctx, f.between(500, 2000))
	return f.killOperator, nil
}

func (f *faultInjector) fillDisk(ctx context.Context) error {
	free, err := fillDisk(f.world.disk)
	if err != nil {
		return err
	}
	pause(ctx, f.between(500, 2000))
	recovered, err := f.maybeRestart(ctx)
	if err != nil {
		return errors.Join(err, free())
	}
	if err := free(); err != nil {
		return err
	}
	return recovered(ctx)
}

func (f *faultInjector) failModel(ctx context.Context) error {
	kinds := slices.Sorted(maps.Keys(modelFaults))
	kind := kinds[f.random.IntN(len(kinds))]
	f.counts["the model: "+kind]++
	return f.world.failModelCalls(ctx, kind, 1+f.random.IntN(8))
}

func (f *faultInjector) failTool(context.Context) error {
	kind := toolFaults[f.random.IntN(len(toolFaults))]
	f.counts["a tool: "+kind]++
	f.world.tools.fail(kind, 1+f.random.IntN(4))
	return nil
}

// nextToDelete returns an order that is to be deleted and was not yet.
func (f *faultInjector) nextToDelete() *order {
	f.world.creating.Lock()
	defer f.world.creating.Unlock()
	for _, o := range f.world.orders {
		if o.deleted && !f.world.deleted[o.name] {
			return o
		}
	}
	return nil
}

func (f *faultInjector) deleteNext(ctx context.Context) error {
	o := f.nextToDelete()
	if o == nil {
		return nil
	}
	if err := f.world.createOrder(ctx, o); err != nil { // it must have existed
		return err
	}
	f.world.creating.Lock()
	defer f.world.creating.Unlock()
	f.world.deleted[o.name] = true
	f.world.logf("  %s is deleted", o.name)
	return client.IgnoreNotFound(f.world.stack.API.Delete(ctx, o.objects()[0]))
}

// deleteWithoutOperator deletes something while no operator is running.
func (f *faultInjector) deleteWithoutOperator(ctx context.Context) error {
	if err := f.kill(); err != nil {
		return err
	}
	if err := f.deleteNext(ctx); err != nil {
		return err
	}
	return f.killOperator(ctx)
}

// eventually polls until a condition holds, and returns its last error.
func eventually(ctx context.Context, patience time.Duration, condition func(context.Context) error) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, 200*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		err := condition(ctx)
		if last == nil || !errors.Is(err, context.DeadlineExceeded) { // the last attempt may have been cancelled
			last = err
		}
		return err == nil, nil
	})
	if err != nil {
		return last
	}
	return nil
}
