// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/nestor-dev/nestor/internal/history/live"
	"github.com/nestor-dev/nestor/internal/replicas"
)

// errMoved is the cause of the end of a follower's context when another replica runs the agent, or none does.
var errMoved = errors.New("the agent runs in another replica")

// follower copies the updates of one agent from wherever it runs.
type follower struct {
	relay *Relay
	uid   string
	sink  *live.Sink
	log   logr.Logger
}

// place is where an agent runs.
type place struct {
	hash   int
	member replicas.Member
	local  bool // even if no replica runs it
}

// run follows until ctx ends.
func (f *follower) run(ctx context.Context) {
	backoff := newBackoff()
	for ctx.Err() == nil {
		changed := f.relay.options.Replicas.Changed()
		begun, err := f.follow(ctx)
		if begun {
			backoff = newBackoff()
		}
		if err == nil || ctx.Err() != nil {
			continue
		}
		f.log.V(1).Info("Live text is interrupted", "reason", err.Error())
		select {
		case <-ctx.Done():
		case <-changed:
		case <-time.After(backoff.Step()):
		}
	}
}

func newBackoff() wait.Backoff {
	return wait.Backoff{Duration: 100 * time.Millisecond, Factor: 2, Jitter: 0.5, Steps: 10, Cap: 5 * time.Second}
}

// follow follows the agent until it moves, with nil, or until that fails. It reports whether anything was read.
func (f *follower) follow(ctx context.Context) (begun bool, err error) {
	at, err := f.find(ctx)
	if err != nil {
		return false, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	f.relay.running.Go(func() { f.waitForMove(ctx, at, cancel) })
	if at.local {
		f.followLocal(ctx)
		return true, nil
	}
	begun, err = f.followRemote(ctx, at.member)
	if errors.Is(context.Cause(ctx), errMoved) {
		return begun, nil
	}
	return begun, fmt.Errorf("follow agent %s at replica %s: %w", f.uid, at.member.Name, err)
}

// find returns where the agent runs.
func (f *follower) find(ctx context.Context) (place, error) {
	record, err := f.relay.options.Agents.Agent(ctx, f.uid)
	if err != nil {
		return place{}, fmt.Errorf("find the tree of agent %s: %w", f.uid, err)
	}
	return f.place(record.ShardHash), nil
}

func (f *follower) place(hash int) place {
	member, ok := f.relay.options.Replicas.Holder(hash)
	if !ok || member.Fingerprint == f.relay.options.Identity.Fingerprint() {
		return place{hash: hash, local: true}
	}
	return place{hash: hash, member: member}
}

// waitForMove cancels ctx when the agent moves. A hash that is unknown may have been recorded since.
func (f *follower) waitForMove(ctx context.Context, from place, cancel context.CancelCauseFunc) {
	for {
		changed := f.relay.options.Replicas.Changed()
		if now := f.place(from.hash); now != from {
			cancel(errMoved)
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
		if from.hash < 0 {
			cancel(errMoved)
			return
		}
	}
}

// followLocal copies the updates of this process's engine until ctx ends.
func (f *follower) followLocal(ctx context.Context) {
	reader := f.relay.options.Local.Follow(f.uid)
	defer reader.Close()
	f.sink.Begin(reader.Read())
	for {
		select {
		case <-reader.Updates():
			f.sink.Add(reader.Read())
		case <-ctx.Done():
			return
		}
	}
}

// followRemote copies the updates of another replica until its stream ends. It reports whether anything was read.
func (f *follower) followRemote(ctx context.Context, from replicas.Member) (begun bool, err error) {
	conn, release, err := f.relay.links.open(ctx, from)
	if err != nil {
		return false, err
	}
	defer release()
	address := url.URL{Scheme: "https", Host: from.Address, Path: agentPath + f.uid}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address.String(), nil)
	if err != nil {
		return false, err
	}
	response, err := conn.RoundTrip(request)
	if err != nil {
		return false, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return false, fmt.Errorf("it answered %s", response.Status)
	}
	updates := json.NewDecoder(response.Body)
	for add := f.sink.Begin; ; add = f.sink.Add {
		var update live.Update
		if err := updates.Decode(&update); err != nil {
			return begun, err
		}
		add(update)
		begun = true
	}
}
