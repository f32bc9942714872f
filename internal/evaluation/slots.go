// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package evaluation runs what users wrote as expressions: with a few slots for each namespace, so that costly
// expressions of one namespace do not delay those of others.
package evaluation

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// PerNamespace bounds the compilations and evaluations of one namespace that run at the same time.
const PerNamespace = 2

// Slots are taken by the compilations and evaluations of namespaces.
type Slots struct {
	// Spawn starts what runs in the background; tests replace it.
	Spawn func(func())

	timeout time.Duration
	mu      sync.Mutex
	// namespaces stay: there are few.
	namespaces map[string]chan struct{}
}

// NewSlots returns slots for evaluations that may take as long as timeout.
func NewSlots(timeout time.Duration) *Slots {
	return &Slots{Spawn: func(f func()) { go f() }, timeout: timeout, namespaces: map[string]chan struct{}{}}
}

// Run calls a function as soon as the namespace has a free slot. The context that it gets ends after the time that an
// evaluation may take.
func (s *Slots) Run(ctx context.Context, namespace string, evaluate func(context.Context) error) error {
	s.mu.Lock()
	slot, ok := s.namespaces[namespace]
	if !ok {
		slot = make(chan struct{}, PerNamespace)
		s.namespaces[namespace] = slot
	}
	s.mu.Unlock()
	select {
	case slot <- struct{}{}:
	case <-ctx.Done():
		return fmt.Errorf("wait for other evaluations of the namespace: %w", ctx.Err())
	}
	defer func() { <-slot }()
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	return evaluate(ctx)
}
