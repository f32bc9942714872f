// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"container/list"
	"time"
)

type provider struct {
	Provider

	choices      []string // this provider and its fallbacks
	waiting      int
	reported     int // the last number of waiting calls passed to the observer
	inFlight     int
	requests     window
	tokens       window
	blockedUntil time.Time
	// meanDuration is a moving average of the durations of calls, to estimate a wait.
	meanDuration time.Duration

	namespaces   map[string]*namespace
	backlogged   map[string]*namespace // those with waiting calls
	lastEviction time.Time
	// reroutable holds the waiting calls that may also go to another provider, ordered by the end of their patience.
	reroutable list.List

	timer  *time.Timer
	wakeAt time.Time

	shares *shares // nil if no other replica calls the provider
}

func newProvider(spec Provider) *provider {
	p := &provider{namespaces: map[string]*namespace{}, backlogged: map[string]*namespace{}}
	p.update(spec)
	return p
}

// update sets new limits; current usage still counts.
func (p *provider) update(spec Provider) {
	p.Provider = spec
	p.choices = append([]string{spec.Name}, spec.Fallback...)
	p.requests.limit, p.tokens.limit = spec.RequestsPerMinute, spec.TokensPerMinute
	for _, n := range p.namespaces {
		n.requests.limit, n.tokens.limit = spec.RequestsPerMinute, spec.TokensPerMinute
	}
}

func (p *provider) namespace(name string) *namespace {
	n := p.namespaces[name]
	if n == nil {
		n = &namespace{name: name, chats: map[string]*chat{}}
		n.requests.limit, n.tokens.limit = p.RequestsPerMinute, p.TokensPerMinute
		p.namespaces[name] = n
	}
	return n
}

func (p *provider) enqueue(c *QueuedCall, now time.Time) {
	n := p.namespace(c.ticket.Namespace)
	n.push(c)
	c.at = p
	p.startPatience(c, now)
	p.waiting++
	p.backlogged[n.name] = n
}

func (p *provider) dequeue(c *QueuedCall) {
	n := p.namespaces[c.ticket.Namespace]
	n.remove(c)
	p.stopPatience(c)
	c.at = nil
	p.waiting--
	if n.waiting == 0 {
		delete(p.backlogged, n.name)
	}
}

// startPatience starts the patience of a call that has other choices.
func (p *provider) startPatience(c *QueuedCall, now time.Time) {
	c.since = now
	if len(c.choices) > 1 {
		c.reconsiderPlace = p.reroutable.PushBack(c)
	}
}

func (p *provider) stopPatience(c *QueuedCall) {
	if c.reconsiderPlace != nil {
		p.reroutable.Remove(c.reconsiderPlace)
		c.reconsiderPlace = nil
	}
}

// fairestNamespace returns the waiting namespace with the smallest dominant share, then the one served longest ago,
// then by name.
func (p *provider) fairestNamespace(now time.Time) *namespace {
	var best *namespace
	var bestShare int64
	for _, n := range p.backlogged {
		s := n.dominantShare(now, p.Concurrent)
		if p.shares != nil {
			s = p.shares.weighted(n.name, s)
		}
		if best == nil || s < bestShare || s == bestShare && p.before(n, best) {
			best, bestShare = n, s
		}
	}
	return best
}

// before orders namespaces with the same dominant share.
func (p *provider) before(a, b *namespace) bool {
	if p.shares != nil && p.shares.turn(a) != p.shares.turn(b) {
		return p.shares.turn(a) < p.shares.turn(b)
	}
	if a.lastGrant != b.lastGrant {
		return a.lastGrant < b.lastGrant
	}
	return a.name < b.name
}

// next returns the call that may start now. Without one, it returns when to check again, or the zero time if only a
// release or another call can change that.
func (p *provider) next(now time.Time) (*QueuedCall, time.Time) {
	if p.shares != nil {
		p.shares.short = ""
	}
	if p.waiting == 0 || p.Concurrent > 0 && p.inFlight >= p.Concurrent {
		return nil, time.Time{}
	}
	if p.blockedUntil.After(now) {
		return nil, p.blockedUntil
	}
	p.requests.expire(now)
	p.tokens.expire(now)
	// The fairest call waits for capacity even if a smaller call of another namespace would fit; otherwise large
	// calls would starve.
	call := p.fairestNamespace(now).next()
	at := p.requests.fits(now, 1)
	if tokensAt := p.tokens.fits(now, call.ticket.Tokens); tokensAt.After(at) {
		at = tokensAt
	}
	if at.After(now) {
		return nil, at
	}
	if p.shares != nil {
		if at, ok := p.fitsShare(call, now); !ok {
			return nil, at
		}
	}
	return call, time.Time{}
}

// start removes a call from the queue and counts it as in flight.
func (p *provider) start(c *QueuedCall, now time.Time, sequence uint64) *Grant {
	p.dequeue(c)
	n := p.namespaces[c.ticket.Namespace]
	n.started(c.ticket.Chat, sequence)
	if p.shares != nil {
		p.shares.served(n)
	}
	p.inFlight++
	p.requests.add(now, 1)
	n.requests.add(now, 1)
	p.tokens.add(now, c.ticket.Tokens)
	n.tokens.add(now, c.ticket.Tokens)
	return &Grant{Provider: p.Name, Waited: now.Sub(c.submitted), ticket: c.ticket, at: p, started: now}
}

func (p *provider) end(g *Grant, used int64, now time.Time) {
	n := p.namespaces[g.ticket.Namespace]
	n.ended(g.ticket.Chat)
	p.inFlight--
	if used >= 0 {
		p.tokens.correct(g.started, used-g.ticket.Tokens)
		n.tokens.correct(g.started, used-g.ticket.Tokens)
	}
	took := now.Sub(g.started)
	if p.meanDuration == 0 {
		p.meanDuration = took
	}
	p.meanDuration += (took - p.meanDuration) / 8
	p.evictIdle(now)
}

// evictIdle drops idle namespaces, about once a minute.
func (p *provider) evictIdle(now time.Time) {
	if now.Sub(p.lastEviction) < windowLength {
		return
	}
	p.lastEviction = now
	for name, n := range p.namespaces {
		if n.idle(now) {
			delete(p.namespaces, name)
		}
	}
}

// expectedWait estimates how long a call submitted now would wait.
func (p *provider) expectedWait(t Ticket, now time.Time) time.Duration {
	p.requests.expire(now)
	p.tokens.expire(now)
	// With fair scheduling a namespace waits for its own calls and for as many of each other namespace, not for all
	// of them.
	own, turns := 0, len(p.backlogged)
	if n := p.namespaces[t.Namespace]; n != nil {
		own = n.waiting
	}
	if own == 0 {
		turns++
	}
	ahead := min(p.waiting, (own+1)*turns-1)
	concurrent, requests, tokens := p.Concurrent, p.requests, p.tokens
	if p.shares != nil {
		concurrent, requests.limit, tokens.limit = p.expectedLimits()
	}
	wait := max(0, p.blockedUntil.Sub(now), requests.wait(now, int64(ahead)+1), tokens.wait(now, int64(ahead+1)*t.Tokens))
	if excess := p.inFlight + ahead + 1 - concurrent; concurrent > 0 && excess > 0 {
		wait = max(wait, time.Duration(excess)*p.meanDuration/time.Duration(concurrent))
	}
	return wait
}
