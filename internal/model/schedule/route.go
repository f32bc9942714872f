// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"slices"
	"time"
)

// route chooses the provider for a call: the current one (or its own) if the expected wait is within its patience,
// else the first of its choices for which it is, else the one with the shortest wait.
func (s *Scheduler) route(call *QueuedCall, from *provider, patience time.Duration, now time.Time) *provider {
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

// primaryAttempts is how often a call may fail at its own provider before a fallback is attempted. It is once if the
// call has too few attempts to reach all fallbacks.
const primaryAttempts = 2

// providerAfterFailures returns the provider for a call that may have failed: first its own provider, then each of the
// fallbacks in turn.
func (s *Scheduler) providerAfterFailures(primary *provider, t Ticket) *provider {
	var fallbacks []*provider
	for _, name := range primary.choices[1:] {
		if p := s.providers[name]; p != nil {
			fallbacks = append(fallbacks, p)
		}
	}
	home := min(primaryAttempts, max(1, t.Attempts-len(fallbacks)))
	if t.Failures < home || len(fallbacks) == 0 {
		return primary
	}
	return fallbacks[(t.Failures-home)%len(fallbacks)]
}

// backOff blocks a provider until a time and moves its waiting calls if they would wait too long. It returns the
// affected providers.
func (s *Scheduler) backOff(p *provider, until, now time.Time) []*provider {
	touched := []*provider{p}
	if !until.After(p.blockedUntil) {
		return touched
	}
	p.blockedUntil = until
	if s.options.Observer != nil {
		s.options.Observer.BackedOff(p.Name, until)
	}
	for at := p.reroutable.Front(); at != nil; {
		next := at.Next() // before at may be removed
		if to := s.reroute(p, queuedCall(at), s.options.Patience, now); !slices.Contains(touched, to) {
			touched = append(touched, to)
		}
		at = next
	}
	return touched
}

// reconsider moves the calls whose patience has ended to where they wait less; the patience of the others starts
// again. It returns the affected providers.
func (s *Scheduler) reconsider(p *provider, now time.Time) []*provider {
	touched := []*provider{p}
	for at := p.reroutable.Front(); at != nil; at = p.reroutable.Front() {
		call := queuedCall(at)
		if call.since.Add(s.options.Patience).After(now) {
			break
		}
		to := s.reroute(p, call, 0, now)
		if to == p {
			p.stopPatience(call)
			p.startPatience(call, now)
		}
		if !slices.Contains(touched, to) {
			touched = append(touched, to)
		}
	}
	return touched
}

// reroute moves a waiting call to the best provider and returns that provider.
func (s *Scheduler) reroute(p *provider, call *QueuedCall, patience time.Duration, now time.Time) *provider {
	to := s.route(call, p, patience, now)
	if to != p {
		p.dequeue(call)
		to.enqueue(call, now)
	}
	return to
}
