// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"sync"

	"github.com/nestor-dev/nestor/internal/engine/admission"
	"github.com/nestor-dev/nestor/internal/engine/slots"
	"github.com/nestor-dev/nestor/internal/recording"
)

// shared has the state that the engines of a process share: the slots and quotas of namespaces, whose trees may be in
// several shards, the knowledge which engine has an agent, and idle goroutines, whose number is bounded for the
// process.
type shared struct {
	options   Options
	slots     *slots.Slots
	admission *admission.Queue
	index     *agentIndex
	owners    *owners
	// runs has the origins of forks.
	runs *recording.Runs
	// steps and calls have separate workers: a step needs a much deeper stack than a call, and calls wait for long.
	steps, calls *workers

	ctx    context.Context
	cancel context.CancelFunc
}

func newShared(options Options) *shared {
	options = options.withDefaults()
	ctx, cancel := context.WithCancel(context.Background())
	s := &shared{options: options, slots: slots.New(options.Shares), index: newAgentIndex(), owners: &owners{ledger: options.Ledger},
		runs: recording.NewRuns(options.Ledger), ctx: ctx, cancel: cancel, steps: newWorkers(ctx.Done()), calls: newWorkers(ctx.Done())}
	s.admission = admission.New(ctx, admission.Options{
		Ledger: options.Ledger, Scheduler: options.Scheduler, Quotas: options.Quotas, QuotaUsageChanged: options.QuotaUsageChanged, NamespaceUID: options.NamespaceUID,
		LedgerQuota: options.LedgerQuota, ReportError: options.ReportError, Now: options.Now, RetryDelay: options.LedgerRetryDelay,
	})
	return s
}

// close ends the checks of quotas.
func (s *shared) close() {
	s.cancel()
	s.admission.Wait()
}

// agentIndex maps the UIDs of agents to the engines that have them.
type agentIndex struct {
	mu      sync.Mutex
	engines map[string]*Engine
}

func newAgentIndex() *agentIndex { return &agentIndex{engines: map[string]*Engine{}} }

func (i *agentIndex) set(uid string, e *Engine) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.engines[uid] = e
}

func (i *agentIndex) remove(uid string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	delete(i.engines, uid)
}

func (i *agentIndex) removeAll(e *Engine) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for uid, other := range i.engines {
		if other == e {
			delete(i.engines, uid)
		}
	}
}

// find returns the engine that has an agent, or nil.
func (i *agentIndex) find(uid string) *Engine {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.engines[uid]
}
