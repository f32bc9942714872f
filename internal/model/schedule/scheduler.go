// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"fmt"
	"sync"
	"time"
)

// Provider is a provider's limits and where else its calls may go. A limit of 0 is none.
type Provider struct {
	// Name is unique among all providers, for example namespace/name.
	Name string
	// Concurrent is how many calls may be under way at a time.
	Concurrent        int
	RequestsPerMinute int64
	TokensPerMinute   int64
	// Fallback are the names of other providers, in order of preference.
	Fallback []string
}

// Ticket is a call that wants to start.
type Ticket struct {
	Provider  string
	Namespace string
	Chat      string
	// Tokens is the estimate of what the call will use.
	Tokens int64
	// Failures is how often the call has failed already, wherever it was made, and Tries how often it may be made in all.
	Failures, Tries int
}

// Result is what became of a call.
type Result struct {
	// Tokens is what the call used in truth; nil if that is unknown, and the estimate stands.
	Tokens *int64
	// BackOff is how long the provider is to be left alone: the Retry-After of a 429. 0 is not at all.
	BackOff time.Duration
}

// Observer is told of what happens, for metrics. It is called with the scheduler's lock held: it must be quick and must
// not call the scheduler.
type Observer interface {
	// Waiting is the number of calls that wait at a provider, whenever it changes.
	Waiting(provider string, calls int)
	// Granted is a call that may start after it has waited. The provider is the one that it goes to.
	Granted(provider string, waited time.Duration)
	// BackedOff is a provider that is left alone until a time.
	BackedOff(provider string, until time.Time)
}

// Options configure a Scheduler.
type Options struct {
	// Patience is the wait beyond which a call goes to a fallback; 0 is DefaultPatience.
	Patience time.Duration
	// Observer may be nil.
	Observer Observer
}

// DefaultPatience is the patience of a scheduler that is not told otherwise.
const DefaultPatience = 15 * time.Second

// maxTokens bounds an estimate, so that sums of them stay in range. No context is near it.
const maxTokens = 1 << 32

// Scheduler decides which calls may start. It is safe for concurrent use.
type Scheduler struct {
	options Options

	mu        sync.Mutex
	providers map[string]*provider
	sequence  uint64
	closed    bool
}

// Call is a submitted call.
type Call struct {
	scheduler *Scheduler
	ticket    Ticket
	granted   func(*Grant)
	submitted time.Time
	choices   []string // where it may go, its own provider first

	// While the call waits: where, since when, and its places in the lines there.
	at    *provider
	since time.Time
	place *place
	hope  *place
}

// Grant is the leave to make a call. It must be released.
type Grant struct {
	// Provider is where to call: the ticket's, or one of its fallbacks.
	Provider string
	// Waited is how long the call was in the queue.
	Waited time.Duration

	scheduler *Scheduler
	ticket    Ticket
	at        *provider
	started   time.Time
	released  bool
}

// New makes a scheduler without providers.
func New(options Options) *Scheduler {
	if options.Patience <= 0 {
		options.Patience = DefaultPatience
	}
	return &Scheduler{options: options, providers: map[string]*provider{}}
}

// SetProvider adds a provider, or changes the limits of one.
func (s *Scheduler) SetProvider(spec Provider) {
	s.change(func(time.Time) []*provider {
		p := s.providers[spec.Name]
		if p == nil {
			p = newProvider(spec)
			s.providers[spec.Name] = p
		}
		p.update(spec)
		return []*provider{p}
	})
}

// RemoveProvider forgets a provider. The calls that wait there are granted at once: whoever makes them finds out what
// has become of it.
func (s *Scheduler) RemoveProvider(name string) {
	s.change(func(time.Time) []*provider {
		p := s.providers[name]
		if p == nil {
			return nil
		}
		p.update(Provider{Name: name})
		p.blockedUntil = time.Time{}
		delete(s.providers, name)
		return []*provider{p}
	})
}

// Submit queues a call. granted is called once, when the call may start, unless it is cancelled before; that may be
// before Submit returns. It runs on whichever goroutine made the room, so it must not block: it starts the call and returns.
func (s *Scheduler) Submit(ticket Ticket, granted func(*Grant)) (*Call, error) {
	ticket.Tokens = min(max(ticket.Tokens, 0), maxTokens)
	call := &Call{scheduler: s, ticket: ticket, granted: granted}
	known := false
	s.change(func(now time.Time) []*provider {
		primary := s.providers[ticket.Provider]
		if known = primary != nil; !known {
			return nil
		}
		call.submitted = now
		call.choices = primary.choices
		p := s.route(call, s.after(primary, ticket), s.options.Patience, now)
		p.enqueue(call, now)
		return []*provider{p}
	})
	if !known {
		return nil, fmt.Errorf("submit a model call: provider %q is not known", ticket.Provider)
	}
	return call, nil
}

// Cancel takes a waiting call back. It reports whether it was in time: if not, the call was granted, and the grant must
// be released as ever.
func (c *Call) Cancel() bool {
	waiting := false
	c.scheduler.change(func(time.Time) []*provider {
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
	g.scheduler.change(func(now time.Time) []*provider {
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
		return g.scheduler.backOff(g.at, now.Add(result.BackOff), now)
	})
}

// Waiting is the number of calls that wait at a provider.
func (s *Scheduler) Waiting(provider string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.providers[provider]; p != nil {
		return p.waiting
	}
	return 0
}

// Close stops the scheduler: no call is granted any more.
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

// change alters the state under the lock, lets start what may start at the providers that were touched, and then calls
// the callers back without the lock.
func (s *Scheduler) change(alter func(now time.Time) []*provider) {
	for _, deliver := range s.alter(alter) {
		deliver()
	}
}

func (s *Scheduler) alter(alter func(now time.Time) []*provider) []func() {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	touched := alter(now)
	deliveries := make([]func(), 0, len(touched))
	for _, p := range touched {
		deliveries = append(deliveries, s.dispatch(p, now)...)
	}
	return deliveries
}

// dispatch starts what may start at a provider and sets its timer for what may start later.
func (s *Scheduler) dispatch(p *provider, now time.Time) []func() {
	var deliveries []func()
	for !s.closed {
		call, at := p.next(now)
		if call == nil {
			s.wake(p, at, now)
			break
		}
		s.sequence++
		grant := p.start(call, now, s.sequence)
		grant.scheduler = s
		deliveries = append(deliveries, func() { call.granted(grant) })
		if s.options.Observer != nil {
			s.options.Observer.Granted(p.Name, grant.Waited)
		}
	}
	if s.options.Observer != nil && p.reported != p.waiting {
		p.reported = p.waiting
		s.options.Observer.Waiting(p.Name, p.waiting)
	}
	return deliveries
}

// wake sets the provider's timer to the given time, or to the end of the first waiting call's patience.
func (s *Scheduler) wake(p *provider, at, now time.Time) {
	if oldest := p.hopeful.first; oldest != nil {
		if end := oldest.call.since.Add(s.options.Patience); at.IsZero() || end.Before(at) {
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
		s.change(func(now time.Time) []*provider {
			p.wakeAt = time.Time{}
			return s.reconsider(p, now)
		})
	})
}
