// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"sync"
	"time"

	"github.com/go-logr/logr"
)

// rateLimitedLog logs errors of the SDK at a limited rate: a collector that is down must not fill the log.
type rateLimitedLog struct {
	log   logr.Logger
	every time.Duration
	now   func() time.Time

	mu         sync.Mutex
	last       time.Time
	suppressed int
}

func (l *rateLimitedLog) Handle(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	if !l.last.IsZero() && now.Sub(l.last) < l.every {
		l.suppressed++
		return
	}
	l.log.Info("Telemetry cannot be sent; agents are not affected", "error", err.Error(), "errorsNotLogged", l.suppressed)
	l.last, l.suppressed = now, 0
}
