// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/engine/exchange"
	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/model"
)

// Bounds of a request to a remote agent to stop: an agent that ends must not wait for a server that does not answer.
const (
	cancelRemoteAttempts = 4
	cancelRemoteTimeout  = 15 * time.Second
)

// cancelRemote asks the remote agent to stop the work of an agent that ends. The effect is outstanding until it did, or until the
// attempts are used up, so a restart in between asks again.
func (a *actor) cancelRemote(ctx context.Context, r *stepResult, e agent.CancelRemote) {
	a.engine.busy.Add(1)
	a.engine.calls.do(func() {
		defer a.engine.busy.Done()
		err := a.engine.stopRemote(ctx, r.record, r.next.History)
		if ctx.Err() != nil {
			return // shutdown: the next engine asks
		}
		fact := agent.RemoteCancelled{}
		if err != nil {
			fact.Problem = exchange.ValidUTF8(err.Error())
		}
		a.finishEffect(e, delivery{fact: fact})
	})
}

// cancelRemoteOfDeleted asks the remote agent to stop the work of an agent whose object was deleted. Nothing waits for it.
func (a *actor) cancelRemoteOfDeleted(r *stepResult) {
	if !r.before.RemoteOpen {
		return
	}
	a.engine.busy.Add(1)
	a.engine.calls.do(func() {
		defer a.engine.busy.Done()
		if err := a.engine.stopRemote(a.engine.ctx, r.record, r.before.History); err != nil && a.engine.ctx.Err() == nil {
			a.engine.options.ReportError(fmt.Errorf("cancel the remote work of the deleted agent %s: %w", a.uid, err))
		}
	})
}

// stopRemote asks the remote agent of an agent to stop, with retries.
func (e *Engine) stopRemote(ctx context.Context, record ledger.Agent, history agent.History) error {
	req := model.Request{Model: record.Model, Conversation: record.UID}
	for _, m := range history.Messages() {
		req.Messages = append(req.Messages, exchange.Message(m))
	}
	for attempt := 1; ; attempt++ {
		err := e.tryStopRemote(ctx, record, req)
		if err == nil || ctx.Err() != nil || attempt == cancelRemoteAttempts || !exchange.Error(err).Retryable() {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(model.Backoff(attempt, 0, e.options.Random())):
		}
	}
}

func (e *Engine) tryStopRemote(ctx context.Context, record ledger.Agent, req model.Request) error {
	ctx, cancel := context.WithTimeout(ctx, cancelRemoteTimeout)
	defer cancel()
	endpoint, err := e.options.Models.Endpoint(ctx, record, record.Provider)
	if err != nil {
		return err
	}
	remote, ok := endpoint.Client.(model.Canceller)
	if !ok {
		return nil
	}
	return remote.Cancel(ctx, req)
}
