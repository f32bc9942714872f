// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/nestor-dev/nestor/internal/share"
)

// The names of a provider's limits, which end the names of their resources.
const (
	concurrentLimit = "concurrent"
	requestsLimit   = "requests"
	tokensLimit     = "tokens"
)

func resource(provider, limit string) string { return "provider/" + provider + "/" + limit }

// shares are the shares of a provider's limits that this replica may use.
type shares struct {
	concurrent, requests, tokens limitShare
	weights                      map[string]float64
	// turns is the turn of the last call: a namespace that was idle continues there, and not at its own last turn.
	turns float64
	// backOffUntil is the end of the back-off that the provider requested from this replica; other replicas report
	// theirs.
	backOffUntil time.Time
	// short names the limit whose share is too small for the next call, if any.
	short string
}

type limitShare struct {
	amount int64
	since  time.Time
	scarce bool
}

// usable returns the amount that may be used now.
func (l limitShare) usable(now time.Time) int64 {
	if share.Expired(l.since, now) {
		return 0
	}
	return l.amount
}

// expected returns the limit to expect for a wait: the share if the others have the rest.
func (l limitShare) expected(limit int64) int64 {
	if limit > 0 && l.scarce {
		return min(limit, max(1, l.amount))
	}
	return limit
}

func (s *shares) limit(name string) *limitShare {
	switch name {
	case concurrentLimit:
		return &s.concurrent
	case requestsLimit:
		return &s.requests
	case tokensLimit:
		return &s.tokens
	default:
		return nil
	}
}

func (s *shares) held() bool { return s.concurrent.amount+s.requests.amount+s.tokens.amount > 0 }

func (s *shares) reported(until time.Time) {
	if until.After(s.backOffUntil) {
		s.backOffUntil = until
	}
}

// weighted divides a dominant share by the fraction of the namespace that this replica should serve, which gives its
// dominant share on all replicas.
func (s *shares) weighted(namespace string, dominant int64) int64 {
	return int64(float64(dominant) / s.weight(namespace))
}

func (s *shares) weight(namespace string) float64 {
	if w := s.weights[namespace]; w > 0 {
		return w
	}
	return 1
}

// turn orders namespaces with the same dominant share, so that they are served by weight.
func (s *shares) turn(n *namespace) float64 { return max(s.turns, n.served) }

func (s *shares) served(n *namespace) {
	s.turns = s.turn(n)
	n.served = s.turns + 1/s.weight(n.name)
}

// fitsShare reports whether a call fits into the shares. If not, it returns when it will, or the zero time if that
// needs larger ones.
func (p *provider) fitsShare(c *QueuedCall, now time.Time) (at time.Time, ok bool) {
	s := p.shares
	if p.Concurrent > 0 && int64(p.inFlight) >= s.concurrent.usable(now) {
		s.short = concurrentLimit
		return time.Time{}, false
	}
	requests, possible := p.requests.fitsInto(s.requests.usable(now), now, 1)
	if !possible || requests.After(now) {
		s.short = requestsLimit
		return requests, false
	}
	tokens, possible := p.tokens.fitsInto(s.tokens.usable(now), now, c.ticket.Tokens)
	if !possible || tokens.After(now) {
		s.short = tokensLimit
		return tokens, false
	}
	return time.Time{}, true
}

func (p *provider) expectedLimits() (concurrent int, requests, tokens int64) {
	s := p.shares
	return int(s.concurrent.expected(int64(p.Concurrent))), s.requests.expected(p.RequestsPerMinute), s.tokens.expected(p.TokensPerMinute)
}

// active reports whether the provider has calls, or had some in the last minute.
func (p *provider) active(now time.Time) bool {
	return p.waiting+p.inFlight > 0 || p.requests.sum+p.tokens.sum > 0 || p.shares.backOffUntil.After(now)
}

// Demands implements share.Source. It and the other methods of a Source need Options.Shares.
func (s *Scheduler) Demands() []share.Demand {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	var list []share.Demand
	for _, p := range s.providers {
		p.requests.expire(now)
		p.tokens.expire(now)
		if p.active(now) || p.shares.held() {
			list = append(list, p.demands(now)...)
		}
	}
	return list
}

func (p *provider) demands(now time.Time) []share.Demand {
	list := []share.Demand{{
		Resource: resource(p.Name, concurrentLimit), Limit: int64(p.Concurrent), Used: int64(p.inFlight), BackOff: max(0, p.shares.backOffUntil.Sub(now)),
		Needs: p.needs(func(n *namespace) int64 { return int64(n.inFlight + n.waiting) }),
	}}
	if p.RequestsPerMinute > 0 {
		list = append(list, share.Demand{
			Resource: resource(p.Name, requestsLimit), PerMinute: true, Limit: p.RequestsPerMinute, Used: p.requests.sum,
			Needs: p.needs(func(n *namespace) int64 { n.requests.expire(now); return n.requests.sum + int64(n.waiting) }),
		})
	}
	if p.TokensPerMinute > 0 {
		d := share.Demand{
			Resource: resource(p.Name, tokensLimit), PerMinute: true, Limit: p.TokensPerMinute, Used: p.tokens.sum,
			Needs: p.needs(func(n *namespace) int64 { n.tokens.expire(now); return n.tokens.sum + n.waitingTokens }),
		}
		if next := p.fairestNamespace(now); next != nil {
			d.Unit = min(next.next().ticket.Tokens, p.TokensPerMinute)
		}
		list = append(list, d)
	}
	return list
}

// needs returns what each namespace needs. The weight is the number of its chats, because these take turns within a
// namespace.
func (p *provider) needs(amount func(*namespace) int64) map[string]share.Need {
	needs := map[string]share.Need{}
	for name, n := range p.namespaces {
		if need := amount(n); need > 0 {
			needs[name] = share.Need{Amount: need, Weight: int64(len(n.chats))}
		}
	}
	return needs
}

func (s *Scheduler) Lower(resource string, amount int64) (used int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p, name := s.limited(resource)
	if p == nil {
		return 0
	}
	limit := p.shares.limit(name)
	limit.amount = min(limit.amount, amount)
	now := time.Now()
	switch name {
	case requestsLimit:
		p.requests.expire(now)
		return p.requests.sum
	case tokensLimit:
		p.tokens.expire(now)
		return p.tokens.sum
	default:
		return int64(p.inFlight)
	}
}

func (s *Scheduler) Apply(list []share.Share) {
	s.update(func(now time.Time) []*provider {
		touched := map[*provider]bool{}
		for _, held := range list {
			p, name := s.limited(held.Resource)
			if p == nil {
				continue
			}
			*p.shares.limit(name) = limitShare{amount: held.Amount, since: held.Since, scarce: held.Scarce}
			touched[p] = true
			if name == concurrentLimit {
				p.shares.weights = held.Weights
			}
			if held.BackOff > 0 {
				for _, other := range s.backOff(p, now.Add(held.BackOff), now) {
					touched[other] = true
				}
			}
		}
		return slices.Collect(maps.Keys(touched))
	})
}

// limited returns the provider and the limit of a resource; the provider is nil if it does not exist.
func (s *Scheduler) limited(resource string) (*provider, string) {
	name, ok := strings.CutPrefix(resource, "provider/")
	at := strings.LastIndexByte(name, '/')
	if !ok || at < 0 {
		return nil, ""
	}
	p := s.providers[name[:at]]
	if p == nil || p.shares.limit(name[at+1:]) == nil {
		return nil, ""
	}
	return p, name[at+1:]
}

func (s *Scheduler) notifySubmitted(c *QueuedCall) {
	s.mu.Lock()
	short := ""
	if p := c.at; p != nil && p.shares.short != "" {
		short = resource(p.Name, p.shares.short)
	}
	s.mu.Unlock()
	if short == "" {
		s.options.Shares.Started()
		return
	}
	s.options.Shares.Short(short)
}

// notifyReleased reports the end of a call to the keeper of the shares if the replica exceeds its share or must back
// off.
func (s *Scheduler) notifyReleased(g *Grant, result Result) {
	s.mu.Lock()
	p := g.at
	freed := result.BackOff > 0 || p.Concurrent > 0 && int64(p.inFlight) >= p.shares.concurrent.amount
	s.mu.Unlock()
	if freed {
		s.options.Shares.Freed(resource(p.Name, concurrentLimit))
	}
}
