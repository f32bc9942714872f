// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agentevaluation

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

// Recorded runs are pinned for a while, and the pin is renewed as long as the evaluation exists. So a pin ends without a finalizer, even if
// the evaluation was deleted while no operator ran.
const (
	pinDuration = 7 * 24 * time.Hour
	pinRenewal  = 24 * time.Hour
)

// pins remembers the pins that this process has made.
type pins struct {
	mu   sync.Mutex
	made map[types.NamespacedName]pinned
}

// pinned is the last pin of the runs of an evaluation.
type pinned struct {
	uid        types.UID
	generation int64
	at         time.Time
}

// due reports whether the runs of an evaluation must be pinned, or else after which time.
func (p *pins) due(name types.NamespacedName, now pinned) (bool, time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	last := p.made[name]
	left := pinRenewal - now.at.Sub(last.at)
	if last.uid != now.uid || last.generation != now.generation || left <= 0 {
		return true, pinRenewal
	}
	return false, left
}

func (p *pins) put(name types.NamespacedName, made pinned) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.made == nil {
		p.made = map[types.NamespacedName]pinned{}
	}
	p.made[name] = made
}

func (p *pins) forget(name types.NamespacedName) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.made, name)
}

// pin keeps retention from deleting the recorded runs of an evaluation, and returns when to do so again; 0 without runs.
func (r *Reconciler) pin(ctx context.Context, e *v1beta1.AgentEvaluation) (time.Duration, error) {
	if len(e.Status.Runs) == 0 {
		return 0, nil
	}
	name, now := client.ObjectKeyFromObject(e), pinned{e.UID, e.Status.ResolvedGeneration, time.Now()}
	due, again := r.pins.due(name, now)
	if !due {
		return again, nil
	}
	var uids []string
	for _, run := range e.Status.Runs {
		uids = append(uids, run.UID)
	}
	if err := r.Ledger.Pin(ctx, uids, now.at.Add(pinDuration)); err != nil {
		return 0, fmt.Errorf("pin the runs of evaluation %s: %w", name, err)
	}
	r.pins.put(name, now)
	return again, nil
}
