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
	// sizesMaxAge is how long the sizes from the ledger are used; appends of this engine are added to them meanwhile.
	sizesMaxAge = 30 * time.Second
	// sizesPollInterval is how often the sizes are read again while a namespace is at its quota.
	sizesPollInterval = 5 * time.Second
)

// tenant identifies a namespace by name and UID, since a name can be reused.
type tenant struct{ namespace, uid string }

func tenantOf(a ledger.Agent) tenant { return tenant{a.Namespace, a.NamespaceUID} }

// ledgerQuota delays the model calls of namespaces that have reached their ledger quota. Model calls write the most, and a call
// that is not made costs nothing. Calls in flight are still recorded, so a namespace may exceed its quota by what its agents have
// in flight.
type ledgerQuota struct {
	shared *shared

	mu      sync.Mutex
	sizes   map[tenant]int64
	readAt  time.Time
	reading bool
	pending []*spaceWait
}

// spaceWait is a model call that waits for space in the ledger.
type spaceWait struct {
	tenant   tenant
	waits    func(agent.QuotaWait)
	granted  func()
	notified bool
}

func newLedgerQuota(s *shared) *ledgerQuota {
	return &ledgerQuota{shared: s, sizes: map[tenant]int64{}}
}

// wait waits for space. It reports false if there is enough.
func (l *ledgerQuota) wait(w *spaceWait) bool {
	if l.shared.options.LedgerQuota <= 0 {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fresh() && !l.full(w.tenant) {
		return false
	}
	l.pending = append(l.pending, w)
	l.read()
	return true
}

// cancel cancels a wait and reports whether it was still waiting.
func (l *ledgerQuota) cancel(w *spaceWait) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := slices.Index(l.pending, w)
	if i >= 0 {
		l.pending = slices.Delete(l.pending, i, i+1)
	}
	return i >= 0
}

// appended adds what this engine has written.
func (l *ledgerQuota) appended(a ledger.Agent, bytes int) {
	if l.shared.options.LedgerQuota <= 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sizes[tenantOf(a)] += int64(bytes)
}

func (l *ledgerQuota) fresh() bool { return time.Since(l.readAt) < sizesMaxAge }

// full reports whether a namespace is at its quota. Rows of earlier releases have no UID and count for the namespace with their
// name.
func (l *ledgerQuota) full(t tenant) bool {
	bytes := l.sizes[t]
	if t.uid != "" {
		bytes += l.sizes[tenant{namespace: t.namespace}]
	}
	return bytes >= l.shared.options.LedgerQuota
}

// read starts reading the sizes, unless that is already in progress. The lock must be held.
func (l *ledgerQuota) read() {
	if l.reading || l.shared.ctx.Err() != nil {
		return
	}
	l.reading = true
	l.shared.busy.Add(1)
	go func() {
		defer l.shared.busy.Done()
		sums, err := l.shared.options.Ledger.Bytes(l.shared.ctx)
		if err != nil && l.shared.ctx.Err() == nil {
			l.shared.options.ReportError(fmt.Errorf("read ledger sizes: %w", err))
		}
		l.grantPending(sums, err)
	}()
}

// grantPending answers the waiting calls. It checks again later while a namespace is full or the sizes could not be read.
func (l *ledgerQuota) grantPending(sums []ledger.NamespaceBytes, err error) {
	l.mu.Lock()
	l.reading = false
	if err == nil {
		l.readAt = time.Now()
		clear(l.sizes)
		for _, s := range sums {
			l.sizes[tenant{s.Namespace, s.UID}] = s.Bytes
		}
	}
	var notify []func()
	l.pending = slices.DeleteFunc(l.pending, func(w *spaceWait) bool {
		if err != nil {
			return false
		}
		if !l.full(w.tenant) {
			notify = append(notify, w.granted)
			return true
		}
		if !w.notified {
			w.notified = true
			notify = append(notify, func() { w.waits(ledgerQuotaWait(w.tenant, l.shared.options.LedgerQuota)) })
		}
		return false
	})
	again := len(l.pending) > 0
	l.mu.Unlock()
	for _, call := range notify {
		call()
	}
	if again {
		time.AfterFunc(min(sizesPollInterval, 5*l.shared.options.LedgerRetryDelay), func() {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.read()
		})
	}
}

func ledgerQuotaWait(t tenant, quota int64) agent.QuotaWait {
	return agent.QuotaWait{Reason: string(ledger.ReasonQuota), Message: fmt.Sprintf("The namespace %s has filled its share of the ledger (%d bytes): %s.", t.namespace, quota, ledger.ReasonQuota.Advice())}
}

// LedgerFull returns why nothing new may start in a namespace, or nil. It answers from memory.
func (s *shared) LedgerFull(namespace, uid string) error {
	if s.options.LedgerQuota <= 0 {
		return nil
	}
	l := s.ledgerQuota
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.fresh() || l.full(tenant{namespace, uid}) && time.Since(l.readAt) > sizesPollInterval {
		l.read()
	}
	if !l.full(tenant{namespace, uid}) {
		return nil
	}
	return &ledger.Error{Op: "begin", Reason: ledger.ReasonQuota, Err: errors.New("the namespace " + namespace + " has filled its share")}
}

// fullNamespaces counts the namespaces at their quota, by the sizes last read.
func (l *ledgerQuota) fullNamespaces() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	names := map[string]bool{}
	for t := range l.sizes {
		if l.shared.options.LedgerQuota > 0 && l.full(t) {
			names[t.namespace] = true
		}
	}
	return len(names)
}
