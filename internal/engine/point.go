// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package engine

// Point is a point between two durable steps at which tests crash the process. See Options.PointReached.
type Point string

// The points, in the order in which an effect passes them.
const (
	// AfterIntent: the intent of an effect is in the ledger, the effect has not started.
	AfterIntent Point = "after-intent"
	// AfterEffect: a model has replied or a tool has run, and nothing is recorded.
	AfterEffect Point = "after-effect"
	// AfterAppend: the result is in the ledger, the state in memory is still the old one.
	AfterAppend Point = "after-append"
	// BeforeStatus: the state has changed, and the controllers were not notified.
	BeforeStatus Point = "before-status"
)

// Points returns all points.
func Points() []Point { return []Point{AfterIntent, AfterEffect, AfterAppend, BeforeStatus} }

func (e *Engine) notifyPoint(p Point) {
	if e.options.PointReached != nil {
		e.options.PointReached(p)
	}
}
