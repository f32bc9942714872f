// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agent

// Time is a moment in milliseconds since the Unix epoch: plain data that prints, compares and serialises the same everywhere.
type Time int64

// Millis is a duration in milliseconds.
type Millis int64

// Add returns the moment d after t.
func (t Time) Add(d Millis) Time { return t + Time(d) }

// Clock measures how long an agent has been active. Time spent waiting for a person or a quota does not count, nor does time
// without a driver.
type Clock struct {
	// Now is the time of the newest event; it never decreases.
	Now Time `json:"now,omitempty"`
	// Active is how long the agent, or the orchestrator's current turn, has been active until Now.
	Active Millis `json:"active,omitempty"`
	// Started is the time of the first event.
	Started Time `json:"started,omitempty"`
}

// advance moves the clock to the time of an event. counts reports whether the elapsed time is active time.
func (c Clock) advance(to Time, counts bool) Clock {
	if to <= c.Now {
		return c
	}
	if counts {
		c.Active += Millis(to - c.Now)
	}
	c.Now = to
	return c
}

// deadline returns when the limit will be reached if the agent stays active.
func (c Clock) deadline(limit Millis) Time { return c.Now.Add(max(0, limit-c.Active)) }
