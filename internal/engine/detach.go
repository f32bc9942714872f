// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/ledger"
)

// A call in flight may take minutes. When a shard is handed over, the other agents of the shard must not wait for it,
// and it must not be made again. It is detached: it continues in this process, and the result is passed through the
// ledger to the new owner of the shard, which has adopted the call (adopt.go).

const (
	// detachAfter is how long calls may take to finish before they are detached.
	detachAfter = 200 * time.Millisecond
	// detachTimeout is how long an engine that hands over tries to detach calls while the ledger fails.
	detachTimeout = 3 * time.Second
	// defaultDetachedTTL is the time after which the new owner regards a call as lost if this process does not extend it,
	// which it does three times as often.
	defaultDetachedTTL = 6 * time.Second
)

// detachedResult is a result as it is stored in the ledger for the new owner.
type detachedResult struct {
	Event       *agent.Event        `json:"event,omitempty"`
	ModelResult *ledger.ModelResult `json:"modelResult,omitempty"`
	ToolResult  *ledger.ToolResult  `json:"toolResult,omitempty"`
	Images      []ledger.Image      `json:"images,omitempty"`
}

// detachment is the calls of an engine that continue after a hand-over.
type detachment struct {
	engine *Engine
	// recorded is closed when the ledger has the calls, or refused them.
	recorded chan struct{}

	mu       sync.Mutex
	inFlight map[string]func() // by the ledger's key; the function stops the call
	refused  bool
}

// detachCalls detaches the calls in flight. It reports false if the ledger could not record them; their results are
// then delivered as usual.
func (e *Engine) detachCalls(ctx context.Context, fence ledger.Fence) bool {
	d := &detachment{engine: e, recorded: make(chan struct{}), inFlight: map[string]func(){}}
	var calls []ledger.DetachedCall
	var actors []*actor
	for _, a := range e.allActors() {
		if keys := a.detach(d); len(keys) > 0 {
			actors = append(actors, a)
			for _, key := range keys {
				calls = append(calls, ledger.DetachedCall{Key: key, Agent: a.uid})
			}
		}
	}
	if len(calls) == 0 {
		return true
	}
	err := e.options.Ledger.Detach(ctx, fence, e.options.Name, calls, e.detachedTTL)
	d.mu.Lock()
	d.refused = err != nil
	d.mu.Unlock()
	if err == nil {
		e.detached.Add(int64(len(calls))) // before finish subtracts
	}
	close(d.recorded)
	if err != nil {
		for _, a := range actors {
			a.attach(d)
		}
		if !errors.Is(err, ledger.ErrFenced) {
			e.options.ReportError(fmt.Errorf("detach %d calls: %w", len(calls), err))
		}
		return false
	}
	e.busy.Add(1)
	go d.keep()
	return true
}

// detach detaches the calls of an agent that are being made, and returns their keys in the ledger.
func (a *actor) detach(d *detachment) []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	var keys []string
	d.mu.Lock()
	defer d.mu.Unlock()
	for key := range a.calling {
		stop, inFlight := a.inFlight[key]
		if !inFlight || a.detached[key] != nil {
			continue // its result is in the mailbox, or it is detached already
		}
		if a.detached == nil {
			a.detached = map[string]*detachment{}
		}
		a.detached[key] = d
		d.inFlight[a.uid+"/"+key] = stop
		keys = append(keys, a.uid+"/"+key)
	}
	return keys
}

// attach undoes detach.
func (a *actor) attach(d *detachment) {
	a.mu.Lock()
	defer a.mu.Unlock()
	maps.DeleteFunc(a.detached, func(_ string, other *detachment) bool { return other == d })
}

// keep extends the time of the calls until they have ended. It stops those that the new owner no longer needs: the
// agent was cancelled, or the call was made again.
func (d *detachment) keep() {
	defer d.engine.busy.Done()
	ticker := time.NewTicker(d.engine.detachedTTL / 3)
	defer ticker.Stop()
	for {
		keys := d.keys()
		if len(keys) == 0 {
			return
		}
		select {
		case <-d.engine.ctx.Done():
			return
		case <-ticker.C:
		}
		lost, err := d.engine.options.Ledger.KeepDetached(d.engine.ctx, d.engine.options.Name, keys, d.engine.detachedTTL)
		if err != nil && d.engine.ctx.Err() == nil {
			d.engine.options.ReportError(fmt.Errorf("extend %d detached calls: %w", len(keys), err))
		}
		d.stop(lost)
	}
}

// stop stops calls. One whose result is being stored has ended already.
func (d *detachment) stop(keys []string) {
	for _, key := range keys {
		d.mu.Lock()
		stop := d.inFlight[key]
		d.mu.Unlock()
		if stop != nil {
			stop()
		}
	}
}

func (d *detachment) keys() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	keys := make([]string, 0, len(d.inFlight))
	for key := range d.inFlight {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// finish passes the result of a call to the new owner. If the ledger did not record that the call is detached, it is
// delivered here.
func (d *detachment) finish(a *actor, effect agent.Effect, result delivery) {
	key := a.ledgerKey(effect)
	d.engine.busy.Add(1)
	go func() {
		defer d.engine.busy.Done()
		select {
		case <-d.recorded:
		case <-d.engine.ctx.Done():
			return
		}
		d.mu.Lock()
		delete(d.inFlight, key)
		refused := d.refused
		d.mu.Unlock()
		if refused {
			a.finishEffect(effect, result)
			return
		}
		defer d.engine.detached.Add(-1)
		if err := d.store(key, result); err != nil {
			d.engine.options.ReportError(fmt.Errorf("pass on the result of %s: %w", key, err))
		}
	}()
}

// store stores a result, and retries while the ledger is unavailable.
func (d *detachment) store(key string, result delivery) error {
	stored := detachedResult{ModelResult: result.modelResult, ToolResult: result.toolResult, Images: result.images}
	if result.fact != nil {
		stored.Event = &agent.Event{At: max(agent.Time(d.engine.options.Now().UnixMilli()), result.at), Fact: result.fact}
	}
	data, err := json.Marshal(stored)
	if err != nil {
		return err
	}
	for {
		_, err := d.engine.options.Ledger.FinishDetached(d.engine.ctx, key, data)
		if err == nil || !errors.Is(err, ledger.ErrUnavailable) {
			return err
		}
		select {
		case <-d.engine.ctx.Done():
			return err
		case <-time.After(d.engine.options.LedgerRetryDelay):
		}
	}
}

// effectKey returns the key of an effect of an agent from its key in the ledger.
func effectKey(uid, key string) string { return strings.TrimPrefix(key, uid+"/") }
