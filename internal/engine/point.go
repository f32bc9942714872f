// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package engine

// Point is a place between two durable steps, where a crash is most interesting. See Options.Reached.
type Point string

// The points, in the order in which an effect passes them.
const (
	// AfterIntent: the intent of an effect is in the ledger, the effect has not begun.
	AfterIntent Point = "after-intent"
	// AfterEffect: a model has replied or a tool has run, and nobody has been told.
	AfterEffect Point = "after-effect"
	// AfterAppend: the result is in the ledger, the state in memory has not moved on.
	AfterAppend Point = "after-append"
	// BeforeStatus: the agent has moved on, and the controllers have not heard of it.
	BeforeStatus Point = "before-status"
)

// Points are all points.
func Points() []Point { return []Point{AfterIntent, AfterEffect, AfterAppend, BeforeStatus} }

// reached tells whoever wants to know that the engine has come to a point.
func (e *Engine) reached(p Point) {
	if e.options.Reached != nil {
		e.options.Reached(p)
	}
}
