// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"container/list"
	"fmt"
	"sync"
	"time"

	"github.com/nestor-dev/nestor/internal/share"
)

// Provider describes a provider's limits and fallbacks. A limit of 0 means none.
type Provider struct {
	// Name is unique among all providers, for example namespace/name.
	Name string
	// Concurrent is the maximum number of calls in flight.
	Concurrent        int
	RequestsPerMinute int64
	TokensPerMinute   int64
	// Fallback lists the names of other providers, in order of preference.
	Fallback []string
}

type Ticket struct {
	Provider  string
	Namespace string
	Chat      string
	Tokens    int64
	// Failures is how often the call has failed so far, at any provider, and Attempts the maximum number of attempts.
	Failures, Attempts int
}

type Result struct {
	// Tokens is the real usage of the call; nil if unknown, and the estimate remains.
	Tokens *int64
	// BackOff is how long the provider must not be called: the Retry-After of a 429, or 0.
	BackOff time.Duration
}

// Observer receives events for metrics. It is called with the scheduler's lock held: it must be quick and must not
// call the scheduler.
type Observer interface {
	// Waiting is called when the number of waiting calls of a provider changes.
	Waiting(provider string, calls int)
	// Granted is called when a call may start, with its wait. The provider is the one that it goes to.
	Granted(provider string, waited time.Duration)
	// BackedOff is called when a provider is blocked until a time.
	BackedOff(provider string, until time.Time)
}

type Options struct {
	// Patience is the wait beyond which a call goes to a fallback; 0 means DefaultPatience.
	Patience time.Duration
	// Observer may be nil.
	Observer Observer
	// Shares is set if other replicas call the same providers. Calls to a provider with limits then start only within
	// the shares that Apply sets; before the first one none starts.
	Shares share.Notifier
}

// DefaultPatience is the default of Options.Patience.
const DefaultPatience = 15 * time.Second

// maxTokens bounds an estimate, so that sums do not overflow. No context is near it.
const maxTokens = 1 << 32

// Scheduler decides which calls may start. It is safe for concurrent use.
type Scheduler struct {
	options Options

	mu        sync.Mutex
	providers map[string]*provider
	sequence  uint64
	closed    bool
}

type QueuedCall struct {
	scheduler *Scheduler
	ticket    Ticket
	granted   func(*Grant)
	submitted time.Time
	choices   []string // possible providers, its own first

	// Set while the call waits: its provider, the start of the wait, and its queue entries.
	at              *provider
	since           time.Time
	place           *list.Element
	reconsiderPlace *list.Element
}

// Grant is the permission to make a call. It must be released.
type Grant struct {
	// Provider is the provider to call: the ticket's, or one of its fallbacks.
	Provider string
	Waited   time.Duration

	scheduler *Scheduler
	ticket    Ticket
	at        *provider
	started   time.Time
	released  bool
}

// New returns a scheduler without providers.
func New(options Options) *Scheduler {
	if options.Patience <= 0 {
		options.Patience = DefaultPatience
	}
	return &Scheduler{options: options, providers: map[string]*provider{}}
}

// SetProvider adds a provider, or changes the limits of one.
func (s *Scheduler) SetProvider(spec Provider) {
	s.update(func(time.Time) []*provider {
		p := s.providers[spec.Name]
		if p == nil {
			p = newProvider(spec)
			if s.options.Shares != nil {
				p.shares = &shares{}
			}
			s.providers[spec.Name] = p
		}
		p.update(spec)
		return []*provider{p}
	})
}

// Submit queues a call. granted is called once when the call may start, possibly before Submit returns, unless the
// call is cancelled before. It runs on the goroutine that freed the capacity, so it must not block: it starts the
// call and returns.
func (s *Scheduler) Submit(ticket Ticket, granted func(*Grant)) (*QueuedCall, error) {
	ticket.Tokens = min(max(ticket.Tokens, 0), maxTokens)
	call := &QueuedCall{scheduler: s, ticket: ticket, granted: granted}
	exists := false
	s.update(func(now time.Time) []*provider {
		primary := s.providers[ticket.Provider]
		if exists = primary != nil; !exists {
			return nil
		}
		call.submitted = now
		call.choices = primary.choices
		p := s.route(call, s.providerAfterFailures(primary, ticket), s.options.Patience, now)
		p.enqueue(call, now)
		return []*provider{p}
	})
	if !exists {
		return nil, fmt.Errorf("submit a model call: provider %q is not known", ticket.Provider)
	}
	if s.options.Shares != nil {
		s.notifySubmitted(call)
	}
	return call, nil
}

// Cancel removes a waiting call. It reports false if the call was already granted; the grant must then be released as
// usual.
func (c *QueuedCall) Cancel() bool {
	waiting := false
	c.scheduler.update(func(time.Time) []*provider {
		p := c.at
		if waiting = p != nil; !waiting {
			return nil
		}
		p.dequeue(c)
		return []*provider{p}
	})
	return waiting
}

// Release ends a call. Only the first release counts.
func (g *Grant) Release(result Result) {
	if g.scheduler.options.Shares != nil {
		defer g.scheduler.notifyReleased(g, result)
	}
	g.scheduler.update(func(now time.Time) []*provider {
		if g.released {
			return nil
		}
		g.released = true
		used := int64(-1)
		if result.Tokens != nil {
			used = max(*result.Tokens, 0)
		}
		g.at.end(g, used, now)
		if result.BackOff <= 0 {
			return []*provider{g.at}
		}
		if g.at.shares != nil {
			g.at.shares.reported(now.Add(result.BackOff))
		}
		return g.scheduler.backOff(g.at, now.Add(result.BackOff), now)
	})
}

func (s *Scheduler) Waiting(provider string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.providers[provider]; p != nil {
		return p.waiting
	}
	return 0
}

// Close stops the scheduler. No more calls are granted.
func (s *Scheduler) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for _, p := range s.providers {
		if p.timer != nil {
			p.timer.Stop()
		}
	}
}

// update modifies the state under the lock, starts the calls that may start at the affected providers, and then runs
// the callbacks without the lock.
func (s *Scheduler) update(change func(now time.Time) []*provider) {
	for _, callback := range s.updateLocked(change) {
		callback()
	}
}

func (s *Scheduler) updateLocked(change func(now time.Time) []*provider) []func() {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	affected := change(now)
	callbacks := make([]func(), 0, len(affected))
	for _, p := range affected {
		callbacks = append(callbacks, s.dispatch(p, now)...)
	}
	return callbacks
}

// dispatch starts the calls that may start at a provider and sets its timer for later ones.
func (s *Scheduler) dispatch(p *provider, now time.Time) []func() {
	var callbacks []func()
	for !s.closed {
		call, at := p.next(now)
		if call == nil {
			s.wake(p, at, now)
			break
		}
		s.sequence++
		grant := p.start(call, now, s.sequence)
		grant.scheduler = s
		callbacks = append(callbacks, func() { call.granted(grant) })
		if s.options.Observer != nil {
			s.options.Observer.Granted(p.Name, grant.Waited)
		}
	}
	if s.options.Observer != nil && p.reported != p.waiting {
		p.reported = p.waiting
		s.options.Observer.Waiting(p.Name, p.waiting)
	}
	return callbacks
}

// wake sets the provider's timer to the given time, or to the end of the first waiting call's patience.
func (s *Scheduler) wake(p *provider, at, now time.Time) {
	if oldest := p.reroutable.Front(); oldest != nil {
		if end := queuedCall(oldest).since.Add(s.options.Patience); at.IsZero() || end.Before(at) {
			at = end
		}
	}
	if at.IsZero() || p.timer != nil && at.Equal(p.wakeAt) {
		return
	}
	p.wakeAt = at
	if p.timer != nil {
		p.timer.Reset(at.Sub(now))
		return
	}
	p.timer = time.AfterFunc(at.Sub(now), func() {
		s.update(func(now time.Time) []*provider {
			p.wakeAt = time.Time{}
			return s.reconsider(p, now)
		})
	})
}
