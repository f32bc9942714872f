// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/nestor-dev/nestor/test/ports"
	"github.com/nestor-dev/nestor/test/stack"
)

// replicaSettings configure the replicas of a run with several.
type replicaSettings struct {
	count  int
	shards int
	lease  time.Duration
}

// The replicas of a run, unless variables say otherwise: Leases are shorter than by default, so that a run is short.
const (
	replicaCount  = 3
	replicaShards = 16
	replicaLease  = 2 * time.Second
	// maxReplicas is how many run at a time.
	maxReplicas = 4
)

// The short form, which is part of `make test`.
const (
	shortReplicaAgents   = 16
	shortReplicaDuration = 4 * time.Second
)

func TestReplicasUnderFailures(t *testing.T) {
	s := readSettings(t, settings{seed: shortSeed, agents: shortReplicaAgents, duration: shortReplicaDuration})
	s.replicas = replicaSettings{count: replicaCount, shards: replicaShards, lease: replicaLease}
	read(t, "CHAOS_SHARDS", func(v string) (err error) { s.replicas.shards, err = strconv.Atoi(v); return err })
	read(t, "CHAOS_LEASE", func(v string) (err error) { s.replicas.lease, err = time.ParseDuration(v); return err })
	s.ledger, s.programs, s.begun = stack.PostgreSQL, t.TempDir(), time.Now()
	if err := stack.Build(t.Context(), s.programs); err != nil {
		t.Fatal(err)
	}
	t.Logf("seed %d, %d agents, failures for %s; again: make chaos-replicas SEED=%d AGENTS=%d DURATION=%s SHARDS=%d LEASE=%s",
		s.seed, s.agents, s.duration, s.seed, s.agents, s.duration, s.replicas.shards, s.replicas.lease)
	run(t, s)
}

func (s replicaSettings) flags() []string {
	return []string{"--shards", strconv.Itoa(s.shards), "--lease-duration", s.lease.String(), "--log-level", "debug"}
}

// fleet is the replicas of a run. Each reaches the API server and PostgreSQL through proxies of its own.
type fleet struct {
	world *world
	slots []*slot
	begun int
	model *modelCounter
	// gateways are the addresses of the replicas' gateways, by slot.
	mu       sync.Mutex
	gateways map[string]string
}

// slot is a place for a replica, like a pod: when the replica dies, another one starts in its place.
type slot struct {
	name          string
	api, postgres *proxy
	options       stack.ReplicaOptions
	running       *stack.Replica
}

// add starts a replica in a new slot, without waiting.
func (f *fleet) add(ctx context.Context) (*slot, error) {
	f.begun++
	s := &slot{name: fmt.Sprintf("replica-%02d", f.begun)}
	ledger, err := url.Parse(f.world.stack.LedgerURL)
	if err != nil {
		return nil, err
	}
	api, err := url.Parse(f.world.stack.OperatorAPI)
	if err != nil {
		return nil, err
	}
	if s.api, err = startProxy(ctx, api.Host); err != nil {
		return nil, err
	}
	if s.postgres, err = startProxy(ctx, ledger.Host); err != nil {
		return nil, err
	}
	ledger.Host = s.postgres.address()
	s.options = stack.ReplicaOptions{LedgerURL: ledger.String(), Log: s.name + ".log"}
	if s.options.Kubeconfig, err = f.world.stack.KubeconfigFor(s.name, s.api.address()); err != nil {
		return nil, err
	}
	if err := f.open(ctx, s); err != nil {
		return nil, err
	}
	f.slots = append(f.slots, s)
	return s, f.start(ctx, s)
}

// open runs a gateway for the replicas of a slot, because there is no Service before all of them.
func (f *fleet) open(ctx context.Context, s *slot) error {
	endpoint, err := ports.Free(ctx)
	if err != nil {
		return err
	}
	door, err := ports.Free(ctx)
	if err != nil {
		return err
	}
	s.options.Flags = []string{"--intake-bind-address", endpoint, "--intake-insecure"}
	f.setDoor(s.name, door)
	_, err = f.world.stack.LaunchGateway(ctx, "--gateway-bind-address", door, "--gateway-insecure", "--operator-url", "http://"+endpoint)
	return err
}

// start starts a replica in a slot, without waiting. env is added to its environment.
func (f *fleet) start(ctx context.Context, s *slot, env ...string) (err error) {
	options := s.options
	options.Env = append([]string{"POD_NAME=" + s.name}, env...)
	s.running, err = f.world.stack.LaunchReplica(ctx, options)
	return err
}

// setDoor stores the address of a replica's gateway; empty means that the replica has ended.
func (f *fleet) setDoor(slot, address string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.gateways == nil {
		f.gateways = map[string]string{}
	}
	f.gateways[slot] = address
	if address == "" {
		delete(f.gateways, slot)
	}
}

// doors returns the addresses of the gateways of all replicas.
func (f *fleet) doors() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Sorted(maps.Values(f.gateways))
}

// revive starts replicas in slots whose replica gave up, as a cluster would.
func (f *fleet) revive(ctx context.Context) error {
	for _, s := range f.slots {
		if !s.exited() {
			continue
		}
		f.world.faults.counts["a replica that gave up is started again"]++
		f.world.logf("%s gave up and is started again", s.name)
		if err := f.start(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

func (s *slot) exited() bool {
	select {
	case <-s.running.Exited():
		return true
	default:
		return false
	}
}

// remove removes a slot whose replica has ended.
func (f *fleet) remove(gone *slot) {
	f.slots = slices.DeleteFunc(slices.Clone(f.slots), func(s *slot) bool { return s == gone })
	f.setDoor(gone.name, "")
	gone.api.close()
	gone.postgres.close()
}

func (f *fleet) killAll() error {
	var errs []error
	for _, s := range f.slots {
		errs = append(errs, s.running.Kill())
	}
	return errors.Join(errs...)
}

func (f *fleet) startAll(ctx context.Context) error {
	for _, s := range f.slots {
		if s.exited() {
			if err := f.start(ctx, s); err != nil {
				return err
			}
		}
	}
	return nil
}

const terminateTimeout = 60 * time.Second // for a replica's end even without the API server and the ledger

// terminate ends a replica with SIGTERM. While nothing else fails, it must exit cleanly.
func (f *fleet) terminate(ctx context.Context, s *slot) error {
	ctx, cancel := context.WithTimeout(ctx, terminateTimeout)
	defer cancel()
	calm := f.world.faults.active.Load() == 0 && s.running.IsReady(ctx) // before that, a signal may end it at once
	begun := time.Now()
	err := s.running.Terminate(ctx)
	f.world.logf("%s ended %.2f s after SIGTERM: %v", s.name, time.Since(begun).Seconds(), err)
	if err != nil && (calm || ctx.Err() != nil) {
		return fmt.Errorf("%s did not exit cleanly: %w", s.name, err)
	}
	f.remove(s)
	return nil
}

// resize starts and terminates replicas until this many run.
func (f *fleet) resize(ctx context.Context, count int) error {
	for len(f.slots) < count {
		if _, err := f.add(ctx); err != nil {
			return err
		}
	}
	for len(f.slots) > count {
		if err := f.terminate(ctx, f.slots[f.world.faults.random.IntN(len(f.slots))]); err != nil {
			return err
		}
	}
	return nil
}

// waitForReady waits until all replicas are ready.
func (f *fleet) waitForReady(ctx context.Context) error {
	for _, s := range f.slots {
		if err := s.running.AwaitReady(ctx); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	return nil
}

// logs returns the logs of all replicas by name.
func (f *fleet) logs() map[string][]byte {
	logs := map[string][]byte{}
	for i := range f.begun {
		name := fmt.Sprintf("replica-%02d.log", i+1)
		words, err := os.ReadFile(f.world.stack.Dir + "/" + name)
		if err != nil {
			words = []byte(err.Error())
		}
		logs[name] = words
	}
	return logs
}
