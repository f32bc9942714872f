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

// Handle implements otel.ErrorHandler.
func (s *rateLimitedLog) Handle(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	if !s.last.IsZero() && now.Sub(s.last) < s.every {
		s.suppressed++
		return
	}
	s.log.Info("Telemetry cannot be sent; agents are not affected", "error", err.Error(), "errorsNotLogged", s.suppressed)
	s.last, s.suppressed = now, 0
}
