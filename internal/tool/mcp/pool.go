// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"cmp"
	"context"
	"maps"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"github.com/nestor-dev/nestor/internal/outbound"
	"github.com/nestor-dev/nestor/internal/outbound/oauth"
)

// Options are the settings of a pool. The zero value uses defaults.
type Options struct {
	// Version of Nestor, sent to servers.
	Version string
	// Wait pauses before the n-th consecutive attempt to connect, counted from 1; nil means [Backoff]. It returns an
	// error if ctx ends first.
	Wait func(ctx context.Context, attempt int) error
	// Changed, if set, is called after the status or the tools of a session changed. It must not block.
	Changed func(Key)
	// ConnectTimeout limits connecting and listing tools; zero is 30 seconds.
	ConnectTimeout time.Duration
	// KeepAlive is how often a connection is checked; zero is 30 seconds.
	KeepAlive time.Duration
	// HTTP sends the requests; nil means a new transport, which may also connect to loopback addresses.
	HTTP http.RoundTripper
}

const (
	defaultConnectTimeout = 30 * time.Second
	defaultKeepAlive      = 30 * time.Second
	shortestPause         = time.Second
	longestPause          = 2 * time.Minute
	// idleTime is how long the session of a person stays open without a call.
	idleTime = 15 * time.Minute
)

// Pool keeps sessions by namespace and server. It is safe for concurrent use.
type Pool struct {
	options Options

	mu       sync.Mutex
	sessions map[Key]*Session
	tokens   map[string]*oauth.Source // by the revision of the server
	closed   bool
	closing  sync.WaitGroup
}

// NewPool returns an empty pool.
func NewPool(options Options) *Pool {
	if options.Wait == nil {
		options.Wait = Backoff
	}
	if options.Changed == nil {
		options.Changed = func(Key) {}
	}
	options.ConnectTimeout = cmp.Or(options.ConnectTimeout, defaultConnectTimeout)
	options.KeepAlive = cmp.Or(options.KeepAlive, defaultKeepAlive)
	if options.HTTP == nil {
		options.HTTP = outbound.New(outbound.Options{AllowLoopback: true})
	}
	return &Pool{options: options, sessions: map[Key]*Session{}, tokens: map[string]*oauth.Source{}}
}

// Ensure returns the session for server and starts it if there is none. A session of another revision is replaced;
// its calls in flight continue on the old one.
func (p *Pool) Ensure(server Server) *Session {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dropIdle()
	old, ok := p.sessions[server.Key]
	if ok && old.server.Revision == server.Revision {
		old.usedAt = time.Now()
		return old
	}
	if ok {
		old.stop()
	}
	session := newSession(server, p.tokensFor(server), p.options)
	session.usedAt = time.Now()
	if p.closed {
		session.stop()
	} else {
		p.sessions[server.Key] = session
	}
	p.dropTokens()
	p.closing.Go(session.run)
	return session
}

// dropIdle closes the sessions of people who have not used them for a while. The caller holds the lock.
func (p *Pool) dropIdle() {
	for key, session := range p.sessions {
		if key.Person != "" && time.Since(session.usedAt) > idleTime {
			session.stop()
			delete(p.sessions, key)
		}
	}
}

// tokensFor returns the source of a server's tokens, which all namespaces share, or nil. The caller holds the lock.
func (p *Pool) tokensFor(server Server) TokenSource {
	if server.Tokens != nil {
		return server.Tokens
	}
	if server.OAuth == nil {
		return nil
	}
	source, ok := p.tokens[server.Revision]
	if !ok {
		source = oauth.NewSource(*server.OAuth, p.options.HTTP)
		p.tokens[server.Revision] = source
	}
	return source
}

// dropTokens drops the tokens that no session uses. The caller holds the lock.
func (p *Pool) dropTokens() {
	used := make(map[string]bool, len(p.tokens))
	for _, session := range p.sessions {
		used[session.server.Revision] = true
	}
	maps.DeleteFunc(p.tokens, func(revision string, _ *oauth.Source) bool { return !used[revision] })
}

// Retry reconnects the disconnected sessions of a revision without a pause, because one of the server's Secrets
// changed.
func (p *Pool) Retry(revision string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, session := range p.sessions {
		if session.server.Revision == revision {
			session.retryNow()
		}
	}
}

// Lookup returns the session for key, if there is one.
func (p *Pool) Lookup(key Key) (*Session, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	session, ok := p.sessions[key]
	return session, ok
}

// Retain closes the sessions for which keep reports false: servers and namespaces that were deleted or are no longer
// used.
func (p *Pool) Retain(keep func(Key) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for key, session := range p.sessions {
		if !keep(key) {
			session.stop()
			delete(p.sessions, key)
		}
	}
	p.dropTokens()
}

// Close closes all sessions and waits until they have ended or ctx ends.
func (p *Pool) Close(ctx context.Context) error {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.Retain(func(Key) bool { return false })

	closed := make(chan struct{})
	go func() {
		p.closing.Wait()
		close(closed)
	}()
	select {
	case <-closed:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Backoff waits one second before the first attempt and doubles the pause up to two minutes, with jitter so that the
// clients of a recovering server do not reconnect at once.
func Backoff(ctx context.Context, attempt int) error {
	pause := longestPause
	if attempt < 8 { // 2^7 seconds exceed the longest pause
		pause = min(shortestPause<<max(attempt-1, 0), longestPause)
	}
	return Pause(ctx, pause-rand.N(pause/2))
}

// Pause waits, and returns an error if ctx ends first.
func Pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
