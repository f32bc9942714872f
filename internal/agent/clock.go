// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agent

// Time is a moment in milliseconds since the epoch: plain data that prints, compares and serialises the same everywhere.
type Time int64

// Millis is a length of time in milliseconds.
type Millis int64

// Add returns the moment d after t.
func (t Time) Add(d Millis) Time { return t + Time(d) }

// Clock measures how long an agent has been at work. Time spent waiting for a person or for a quota does not count,
// nor does the time in which no driver was running.
type Clock struct {
	// Now is the time of the newest event; it never goes back.
	Now Time `json:"now,omitempty"`
	// Active is how long the agent, or the orchestrator's turn, has been at work until Now.
	Active Millis `json:"active,omitempty"`
	// Started is the time of the first event.
	Started Time `json:"started,omitempty"`
}

// advance moves the clock to the time of an event. Whether the time in between counts is for the caller to say.
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

// deadline is when the limit will be reached if the agent stays at work.
func (c Clock) deadline(limit Millis) Time { return c.Now.Add(max(0, limit-c.Active)) }
