// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"slices"
	"time"
)

// route chooses where a call goes: to its own provider if that is expected to serve it within the patience, else to the
// first fallback that is, else to where the wait is shortest.
func (s *Scheduler) route(primary *provider, ticket Ticket, patience time.Duration, now time.Time) *provider {
	best, shortest := primary, primary.expectedWait(ticket, now)
	for _, name := range primary.Fallback {
		if shortest <= patience {
			break
		}
		p := s.providers[name]
		if p == nil {
			continue
		}
		if wait := p.expectedWait(ticket, now); wait < shortest {
			best, shortest = p, wait
		}
	}
	return best
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
		touched = s.reroute(p, at.call, s.options.Patience, now, touched)
		at = next
	}
	return touched
}

// reconsider looks at the calls that have waited as long as their patience and sends them where they wait less. It
// returns the providers that calls went to.
func (s *Scheduler) reconsider(p *provider, now time.Time) []*provider {
	var touched []*provider
	for at := p.hopeful.first; at != nil; at = p.hopeful.first {
		call := at.call
		if call.submitted.Add(s.options.Patience).After(now) {
			break
		}
		touched = s.reroute(p, call, 0, now, touched)
		p.losePatience(call)
	}
	return touched
}

// reroute moves a waiting call to another provider if it does not stay within its patience here.
func (s *Scheduler) reroute(p *provider, call *Call, patience time.Duration, now time.Time, touched []*provider) []*provider {
	to := s.route(p, call.ticket, patience, now)
	if to == p {
		return touched
	}
	p.dequeue(call)
	to.enqueue(call)
	if slices.Contains(touched, to) {
		return touched
	}
	return append(touched, to)
}
