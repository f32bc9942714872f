// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"sync"
)

// gate lets callers wait until it is open. It may be opened and shut any number of times.
type gate struct {
	mu   sync.Mutex
	open chan struct{} // closed while the gate is open
}

// newGate returns a gate that is shut.
func newGate() *gate { return &gate{open: make(chan struct{})} }

// set opens or shuts the gate.
func (g *gate) set(open bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	select {
	case <-g.open:
		if !open {
			g.open = make(chan struct{})
		}
	default:
		if open {
			close(g.open)
		}
	}
}

// wait waits until the gate is open or ctx ends.
func (g *gate) wait(ctx context.Context) error {
	g.mu.Lock()
	open := g.open
	g.mu.Unlock()
	select {
	case <-open:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// isOpen reports whether the gate is open.
func (g *gate) isOpen() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	select {
	case <-g.open:
		return true
	default:
		return false
	}
}
