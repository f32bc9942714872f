// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"slices"
	"time"
)

// route chooses where a call goes: it stays where it is (or with its own provider) if it is expected to be served there
// within its patience, else it goes to the first of its choices where it is, else to where the wait is shortest.
func (s *Scheduler) route(call *Call, from *provider, patience time.Duration, now time.Time) *provider {
	best, shortest := from, from.expectedWait(call.ticket, now)
	for _, name := range call.choices {
		if shortest <= patience {
			break
		}
		p := s.providers[name]
		if p == nil || p == from {
			continue
		}
		if wait := p.expectedWait(call.ticket, now); wait < shortest {
			best, shortest = p, wait
		}
	}
	return best
}

// triesAtHome is how often a call may fail at its own provider before a fallback is tried. With fewer tries than that leaves to
// the fallbacks it is once.
const triesAtHome = 2

// after is where a call belongs that may have failed: with its own provider at first, then with each of the fallbacks in turn.
func (s *Scheduler) after(primary *provider, t Ticket) *provider {
	var fallbacks []*provider
	for _, name := range primary.choices[1:] {
		if p := s.providers[name]; p != nil {
			fallbacks = append(fallbacks, p)
		}
	}
	home := min(triesAtHome, max(1, t.Tries-len(fallbacks)))
	if t.Failures < home || len(fallbacks) == 0 {
		return primary
	}
	return fallbacks[(t.Failures-home)%len(fallbacks)]
}

// backOff leaves a provider alone until a time and sends its waiting calls elsewhere where they would wait too long. It
// returns the providers that were touched.
func (s *Scheduler) backOff(p *provider, until, now time.Time) []*provider {
	touched := []*provider{p}
	if !until.After(p.blockedUntil) {
		return touched
	}
	p.blockedUntil = until
	if s.options.Observer != nil {
		s.options.Observer.BackedOff(p.Name, until)
	}
	for at := p.hopeful.first; at != nil; {
		next := at.next
		if to := s.reroute(p, at.call, s.options.Patience, now); !slices.Contains(touched, to) {
			touched = append(touched, to)
		}
		at = next
	}
	return touched
}

// reconsider looks at the calls that have waited as long as their patience, and sends them where they wait less; those
// that stay begin a new patience. It returns the providers that were touched.
func (s *Scheduler) reconsider(p *provider, now time.Time) []*provider {
	touched := []*provider{p}
	for at := p.hopeful.first; at != nil; at = p.hopeful.first {
		call := at.call
		if call.since.Add(s.options.Patience).After(now) {
			break
		}
		to := s.reroute(p, call, 0, now)
		if to == p {
			p.despair(call)
			p.hope(call, now)
		}
		if !slices.Contains(touched, to) {
			touched = append(touched, to)
		}
	}
	return touched
}

// reroute moves a waiting call to where it is better off and returns where that is.
func (s *Scheduler) reroute(p *provider, call *Call, patience time.Duration, now time.Time) *provider {
	to := s.route(call, p, patience, now)
	if to != p {
		p.dequeue(call)
		to.enqueue(call, now)
	}
	return to
}
