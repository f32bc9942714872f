// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/ledger"
)

const (
	// sizesFor is how long the sums of the ledger are good; what this engine appends meanwhile is added to them.
	sizesFor = 30 * time.Second
	// pollSizes is how often they are read again while a namespace is at its quota.
	pollSizes = 5 * time.Second
)

// tenant is a namespace, not its name.
type tenant struct{ namespace, uid string }

func tenantOf(a ledger.Agent) tenant { return tenant{a.Namespace, a.NamespaceUID} }

// ledgerQuota lets the model calls of a namespace wait that has filled its share of the ledger: nothing else writes as much, and a call
// that is not made costs nothing. What is in flight is recorded, so a namespace may exceed its quota by what its agents are doing.
type ledgerQuota struct {
	engine *Engine

	mu      sync.Mutex
	sizes   map[tenant]int64
	readAt  time.Time
	reading bool
	claims  []*roomClaim
}

// roomClaim is a model call that needs room in the ledger.
type roomClaim struct {
	tenant  tenant
	waits   func(agent.QuotaWait)
	granted func()
	told    bool
}

func newLedgerQuota(e *Engine) *ledgerQuota {
	return &ledgerQuota{engine: e, sizes: map[tenant]int64{}}
}

// claim asks for room. It reports false if there is enough, and nothing was asked.
func (l *ledgerQuota) claim(c *roomClaim) bool {
	if l.engine.options.LedgerQuota <= 0 {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fresh() && !l.full(c.tenant) {
		return false
	}
	l.claims = append(l.claims, c)
	l.read()
	return true
}

// giveUp stops waiting, and says whether it was in time.
func (l *ledgerQuota) giveUp(c *roomClaim) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := slices.Index(l.claims, c)
	if i >= 0 {
		l.claims = slices.Delete(l.claims, i, i+1)
	}
	return i >= 0
}

// appended counts what this engine has written.
func (l *ledgerQuota) appended(a ledger.Agent, bytes int) {
	if l.engine.options.LedgerQuota <= 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sizes[tenantOf(a)] += int64(bytes)
}

func (l *ledgerQuota) fresh() bool { return time.Since(l.readAt) < sizesFor }

// full says whether a namespace is at its quota. What earlier releases wrote has no UID, and counts for the namespace of the name.
func (l *ledgerQuota) full(t tenant) bool {
	bytes := l.sizes[t]
	if t.uid != "" {
		bytes += l.sizes[tenant{namespace: t.namespace}]
	}
	return bytes >= l.engine.options.LedgerQuota
}

// read begins to read the sums, unless somebody does. The lock is held.
func (l *ledgerQuota) read() {
	if l.reading || l.engine.ctx.Err() != nil {
		return
	}
	l.reading = true
	l.engine.busy.Add(1)
	go func() {
		defer l.engine.busy.Done()
		sums, err := l.engine.options.Ledger.Bytes(l.engine.ctx)
		if err != nil && l.engine.ctx.Err() == nil {
			l.engine.options.Trouble(fmt.Errorf("model calls wait for room in the ledger: %w", err))
		}
		l.judge(sums, err)
	}()
}

// judge answers the claims. While a namespace is full, or the sums could not be read, it looks again later.
func (l *ledgerQuota) judge(sums []ledger.NamespaceBytes, err error) {
	l.mu.Lock()
	l.reading = false
	if err == nil {
		l.readAt = time.Now()
		clear(l.sizes)
		for _, s := range sums {
			l.sizes[tenant{s.Namespace, s.UID}] = s.Bytes
		}
	}
	var tell []func()
	l.claims = slices.DeleteFunc(l.claims, func(c *roomClaim) bool {
		if err != nil {
			return false
		}
		if !l.full(c.tenant) {
			tell = append(tell, c.granted)
			return true
		}
		if !c.told {
			c.told = true
			tell = append(tell, func() { c.waits(ledgerQuotaWait(c.tenant, l.engine.options.LedgerQuota)) })
		}
		return false
	})
	again := len(l.claims) > 0
	l.mu.Unlock()
	for _, t := range tell {
		t()
	}
	if again {
		time.AfterFunc(min(pollSizes, 5*l.engine.options.RetryLedger), func() {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.read()
		})
	}
}

func ledgerQuotaWait(t tenant, quota int64) agent.QuotaWait {
	return agent.QuotaWait{Reason: string(ledger.ReasonQuota), Message: fmt.Sprintf("The namespace %s has filled its share of the ledger (%d bytes): %s.", t.namespace, quota, ledger.ReasonQuota.Advice())}
}

// LedgerFull is why nothing new may begin in a namespace, and nil while it has room in the ledger. It does not block.
func (e *Engine) LedgerFull(namespace, uid string) error {
	if e.options.LedgerQuota <= 0 {
		return nil
	}
	l := e.ledgerQuota
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.fresh() || l.full(tenant{namespace, uid}) && time.Since(l.readAt) > pollSizes {
		l.read()
	}
	if !l.full(tenant{namespace, uid}) {
		return nil
	}
	return &ledger.Error{Op: "begin", Reason: ledger.ReasonQuota, Err: errors.New("the namespace " + namespace + " has filled its share")}
}

// fullNamespaces counts the namespaces that are at their quota, by the sums that were last read.
func (l *ledgerQuota) fullNamespaces() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	names := map[string]bool{}
	for t := range l.sizes {
		if l.engine.options.LedgerQuota > 0 && l.full(t) {
			names[t.namespace] = true
		}
	}
	return len(names)
}
