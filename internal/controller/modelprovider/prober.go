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
	holdGood     = 10 * time.Minute
	holdBad      = 30 * time.Second
	probeTimeout = 10 * time.Second
)

// verdict is the result of a probe.
type verdict struct {
	// revision identifies the probed spec and key.
	revision string
	kind     model.Kind
	message  string
	at       time.Time
}

func (v verdict) good() bool { return v.kind == "" }

// fresh returns how long the result is still valid.
func (v verdict) fresh(now time.Time) time.Duration {
	hold := holdGood
	if !v.good() {
		hold = holdBad
	}
	return hold - now.Sub(v.at)
}

// prober probes providers in separate goroutines, because a reconcile must not wait for a provider.
type prober struct {
	now  func() time.Time
	done func(types.NamespacedName)

	mu       sync.Mutex
	verdicts map[types.NamespacedName]verdict
	running  map[types.NamespacedName]string
}

func newProber(now func() time.Time, done func(types.NamespacedName)) *prober {
	return &prober{now: now, done: done, verdicts: map[types.NamespacedName]verdict{}, running: map[types.NamespacedName]string{}}
}

// verdict returns the result for a revision of a provider.
func (p *prober) verdict(name types.NamespacedName, revision string) (verdict, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	v, ok := p.verdicts[name]
	return v, ok && v.revision == revision
}

// probe starts a probe unless one is running.
func (p *prober) probe(name types.NamespacedName, revision string, client *model.Client) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.running[name] == revision {
		return
	}
	p.running[name] = revision
	go p.ask(name, revision, client)
}

func (p *prober) ask(name types.NamespacedName, revision string, client *model.Client) {
	ctx, cancel := context.WithTimeout(context.Background(), probeTimeout)
	defer cancel()
	_, err := client.Models(ctx)
	v := verdict{revision: revision, at: p.now()}
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
		p.verdicts[name] = v
	}
	p.mu.Unlock()
	p.done(name)
}

func (p *prober) forget(name types.NamespacedName) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.verdicts, name)
	delete(p.running, name)
}
