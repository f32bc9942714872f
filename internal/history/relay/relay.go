// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/go-logr/logr"

	"github.com/nestor-dev/nestor/internal/history/live"
	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/replicas"
	"github.com/nestor-dev/nestor/internal/streams"
)

// Replicas are the replicas of an installation. Each publishes the address of its relay and the fingerprint of its Identity. The methods must not block.
type Replicas interface {
	// Members returns the live replicas; this one may be among them.
	Members() []replicas.Member
	// Holder returns the replica that runs the trees with a hash, and whether there is one. The hash is -1 if it is unknown.
	Holder(hash int) (replicas.Member, bool)
	// Changed returns a channel that is closed when Members or Holder return something new.
	Changed() <-chan struct{}
}

// Agents finds the records of agents. A ledger implements it.
type Agents interface {
	Agent(ctx context.Context, uid string) (ledger.Agent, error)
}

// Options configure a relay. All but Streams, Log and Heartbeat are required.
type Options struct {
	// Address is the address to listen on, such as :9443 or 127.0.0.1:0.
	Address  string
	Identity *Identity
	Replicas Replicas
	Agents   Agents
	// Local has the updates of this process's engine.
	Local *live.Hub
	// Streams counts and limits the streams to other replicas, each of which is a user; nil means no limit.
	Streams *streams.Limiter
	Log     logr.Logger
	// Heartbeat is after how long a silent connection is probed, and how long the answer may take; 0 means 5 seconds.
	Heartbeat time.Duration
}

// Relay passes live updates from and to other replicas.
type Relay struct {
	options  Options
	listener net.Listener
	hub      *live.Hub
	links    *links

	ctx     context.Context // of the followers
	cancel  context.CancelFunc
	running sync.WaitGroup
	mu      sync.Mutex
	stopped bool
}

// New returns a relay that listens but does not serve yet.
func New(ctx context.Context, options Options) (*Relay, error) {
	if options.Streams == nil {
		options.Streams = streams.NewLimiter(streams.Limits{})
	}
	if options.Heartbeat == 0 {
		options.Heartbeat = 5 * time.Second
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", options.Address)
	if err != nil {
		return nil, fmt.Errorf("listen for other replicas: %w", err)
	}
	r := &Relay{options: options, listener: listener, links: newLinks(options.Identity, options.Heartbeat)}
	r.ctx, r.cancel = context.WithCancel(context.WithoutCancel(ctx))
	r.hub = live.NewHub(r.feed)
	return r, nil
}

// Hub returns a hub with the updates of all agents, wherever they run.
func (r *Relay) Hub() *live.Hub { return r.hub }

func (r *Relay) Port() int {
	address, ok := r.listener.Addr().(*net.TCPAddr)
	if !ok {
		return 0
	}
	return address.Port
}

// NeedLeaderElection implements manager.LeaderElectionRunnable: every replica serves.
func (r *Relay) NeedLeaderElection() bool { return false }

// Start serves until ctx ends, and ends all followers then. It implements manager.Runnable.
func (r *Relay) Start(ctx context.Context) error {
	defer r.stop()
	server := r.newServer(ctx)
	served := make(chan error, 1)
	go func() { served <- server.ServeTLS(r.listener, "", "") }()
	select {
	case err := <-served:
		return fmt.Errorf("serve other replicas: %w", err)
	case <-ctx.Done():
	}
	err := server.Close() // they connect to the next holder
	<-served
	if err != nil && !errors.Is(err, net.ErrClosed) {
		return fmt.Errorf("stop serving other replicas: %w", err)
	}
	return nil
}

// stop ends the followers.
func (r *Relay) stop() {
	r.mu.Lock()
	r.stopped = true
	r.mu.Unlock()
	r.cancel()
	r.running.Wait()
}

// feed starts a follower for the first reader of an agent. It is the Source of the hub.
func (r *Relay) feed(uid string, to *live.Sink) (stop func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	ctx, cancel := context.WithCancel(r.ctx)
	if r.stopped {
		return cancel
	}
	f := &follower{relay: r, uid: uid, sink: to, log: r.options.Log.WithValues("agent", uid)}
	r.running.Go(func() { f.run(ctx) })
	return cancel
}
