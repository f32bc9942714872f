// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package modelprovider

import (
	"context"
	"errors"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/nestor-dev/nestor/internal/model"
)

// Lifetimes of results, and the timeout of a probe.
const (
	successTTL   = 10 * time.Minute
	failureTTL   = 30 * time.Second
	probeTimeout = 10 * time.Second
)

type probeResult struct {
	// revision identifies the probed spec and key.
	revision string
	kind     model.Kind
	message  string
	at       time.Time
}

func (v probeResult) ok() bool { return v.kind == "" }

// validFor returns how long the result is still valid.
func (v probeResult) validFor(now time.Time) time.Duration {
	hold := successTTL
	if !v.ok() {
		hold = failureTTL
	}
	return hold - now.Sub(v.at)
}

// prober probes providers in separate goroutines, because a reconcile must not wait for a provider.
type prober struct {
	now    func() time.Time
	notify func(types.NamespacedName)

	mu      sync.Mutex
	results map[types.NamespacedName]probeResult
	running map[types.NamespacedName]string
}

func newProber(now func() time.Time, done func(types.NamespacedName)) *prober {
	return &prober{now: now, notify: done, results: map[types.NamespacedName]probeResult{}, running: map[types.NamespacedName]string{}}
}

func (p *prober) result(name types.NamespacedName, revision string) (probeResult, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	v, ok := p.results[name]
	return v, ok && v.revision == revision
}

// hasProbed reports whether there is a result for any revision of a provider.
func (p *prober) hasProbed(name types.NamespacedName) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, ok := p.results[name]
	return ok
}

// probe starts a probe unless one is running.
func (p *prober) probe(name types.NamespacedName, revision string, client model.Client, release func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.running[name] == revision {
		return
	}
	p.running[name] = revision
	go p.run(name, revision, client, release)
}

func (p *prober) run(name types.NamespacedName, revision string, client model.Client, release func()) {
	defer release()
	ctx, cancel := context.WithTimeout(context.Background(), probeTimeout)
	defer cancel()
	_, err := client.Models(ctx)
	v := probeResult{revision: revision, at: p.now()}
	var failure *model.Error
	switch {
	case errors.As(err, &failure):
		v.kind, v.message = failure.Kind, failure.Message
	case err != nil:
		v.kind, v.message = model.Transient, err.Error()
	}
	p.mu.Lock()
	if p.running[name] == revision {
		delete(p.running, name)
		p.results[name] = v
	}
	p.mu.Unlock()
	p.notify(name)
}

func (p *prober) evict(name types.NamespacedName) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.results, name)
	delete(p.running, name)
}
