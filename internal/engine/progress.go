// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"maps"
	"time"

	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/engine/admission"
	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/tool"
)

// progressInterval is the least time between two notifications about the progress of an agent's tools. Each costs a status write.
const progressInterval = 2 * time.Second

// toolProgress is what the tools of an agent report about their calls in flight. It is not recorded.
type toolProgress struct {
	texts    map[string]string // by the id of the call
	notified time.Time
	pending  bool
}

func (a *actor) reporter(record ledger.Agent, e agent.RunTool) func(tool.Progress) {
	return func(p tool.Progress) {
		a.mu.Lock()
		defer a.mu.Unlock()
		text := p.String()
		if _, inFlight := a.inFlight[e.Key()]; !inFlight || a.progress.texts[e.Call] == text {
			return
		}
		if a.progress.texts == nil {
			a.progress.texts = map[string]string{}
		}
		a.progress.texts[e.Call] = text
		if a.progress.pending {
			return
		}
		a.progress.pending = true
		wait := progressInterval - time.Since(a.progress.notified)
		time.AfterFunc(max(wait, 0), func() {
			a.mu.Lock()
			a.progress.pending, a.progress.notified = false, time.Now()
			a.mu.Unlock()
			if a.engine.ctx.Err() == nil {
				a.engine.options.ProgressChanged(record)
			}
		})
	}
}

// Progress returns what the tools of an agent report about their calls in flight, by the id of the call.
func (e *Engine) Progress(uid string) map[string]string {
	a := e.actors.find(uid)
	if a == nil {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return maps.Clone(a.progress.texts)
}

// Queued returns where the model call of an agent waits, if it has waited for long.
func (e *Engine) Queued(uid string) (admission.Queued, bool) {
	a := e.actors.find(uid)
	if a == nil {
		return admission.Queued{}, false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.waiting == nil {
		return admission.Queued{}, false
	}
	return a.waiting.Queued()
}
