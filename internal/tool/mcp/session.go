// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/time/rate"

	"github.com/nestor-dev/nestor/internal/tool"
)

// Rate limit for listing a server's tools again after it reported a change.
const (
	relistEvery = 10 * time.Second
	relistBurst = 10
)

// Session is the connection of one namespace to one server. It reconnects automatically.
type Session struct {
	server  Server
	options Options
	tokens  TokenSource // nil if the server needs none
	usedAt  time.Time   // when the session was last requested; the pool's lock guards it
	tasks   taskTools
	ctx     context.Context
	stop    context.CancelFunc

	mu     sync.Mutex
	conn   *connection // nil while disconnected
	tools  tool.Set
	listed []listed
	// listings counts the lists of tools, and offered caches the offered tools of the last one.
	listings int
	offered  cachedOffer
	// headers are the tools, by the server's names, that require arguments in headers.
	headers map[string]bool
	status  Status
	changed chan struct{} // closed and replaced when a field above changes
	// wake ends the current pause; it is nil without one. retry means that the next one is skipped.
	wake  context.CancelFunc
	retry bool
}

func newSession(server Server, tokens TokenSource, options Options) *Session {
	ctx, stop := context.WithCancel(context.Background())
	return &Session{
		server: server, tokens: tokens, options: options, ctx: ctx, stop: stop,
		status:  Status{Reason: Connecting, Message: "connecting"},
		changed: make(chan struct{}),
	}
}

func (s *Session) Key() Key { return s.server.Key }

// Status returns a snapshot of the session. Its Tools must not be changed.
func (s *Session) Status() Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.status
}

// Tools returns the server's tools from the last list, whether they match their pins or not.
func (s *Session) Tools() tool.Set {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tools
}

func (s *Session) inHeaders(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.headers[name]
}

// WaitForStatus waits until the session is connected or has failed to connect, or ctx ends, and returns its status.
func (s *Session) WaitForStatus(ctx context.Context) Status {
	for {
		s.mu.Lock()
		status, turn := s.status, s.changed
		s.mu.Unlock()
		if !status.Reason.connecting() {
			return status
		}
		select {
		case <-turn:
		case <-ctx.Done():
			return status
		}
	}
}

// run keeps the session connected until it is stopped.
func (s *Session) run() {
	defer s.setDisconnected(Closed, "the server was changed or removed")
	for attempt := 1; s.ctx.Err() == nil; attempt++ {
		conn, tools, err := s.connect()
		var unusable *unusableError
		switch {
		case err == nil:
			began := time.Now()
			s.serve(conn, tools)
			if time.Since(began) > longestPause {
				attempt = 1
			}
		case errors.As(err, &unusable):
			s.setDisconnected(unusable.reason, err.Error())
		case errors.Is(err, errInvalidServer):
			s.setDisconnected(InvalidServer, err.Error())
			<-s.ctx.Done() // wait for another revision
		case errors.Is(err, errUnauthorized):
			s.setDisconnected(Unauthorized, err.Error())
		default:
			s.setDisconnected(ConnectFailed, err.Error())
		}
		if s.pause(attempt) {
			attempt = 0
		}
	}
}

// pause waits before the next attempt to connect, and reports whether the pause was skipped or cut short.
func (s *Session) pause(attempt int) (skipped bool) {
	ctx, wake := context.WithCancel(s.ctx)
	defer wake()
	s.mu.Lock()
	if s.retry {
		s.retry = false
		s.mu.Unlock()
		return true
	}
	s.wake = wake
	s.mu.Unlock()
	skipped = s.options.Wait(ctx, attempt) != nil
	s.mu.Lock()
	s.wake = nil
	s.mu.Unlock()
	return skipped
}

// retryNow ends the pause between two attempts to connect, or skips the next one.
func (s *Session) retryNow() {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.wake != nil:
		s.wake()
	case !s.status.Ready: // the attempt in progress may fail with the old Secret
		s.retry = true
	}
}

// serve uses conn until the connection or the session ends.
func (s *Session) serve(conn *connection, tools listing) {
	var err error
	turns := rate.NewLimiter(rate.Every(relistEvery), relistBurst)
	for err == nil {
		s.offer(conn, tools)
		select {
		case <-conn.listChanged:
			// Limit the rate for a server that keeps reporting changes.
			if conn.sleep(s.ctx, turns.Reserve().Delay()) {
				tools, err = s.list(s.ctx, conn.session)
			}
		case <-conn.over:
			err = sdk.ErrConnectionClosed
		case <-s.ctx.Done():
			s.setDisconnected(Closed, "the server was changed or removed")
			conn.close()
			<-conn.ended // after the calls in flight
			return
		}
	}
	s.setDisconnected(Reconnecting, "the connection was lost; reconnecting")
	conn.close()
}

func (s *Session) offer(conn *connection, tools listing) {
	s.update(func() {
		s.conn, s.tools, s.listed, s.headers = conn, tools.set, tools.listed, tools.headers
		s.listings, s.offered = s.listings+1, cachedOffer{}
		s.status = Status{
			Ready: true, Reason: Connected, Tools: tools.status, Digest: digestOfAll(tools.status), LeftOut: tools.leftOut,
			Message: connectedMessage(tools.set.Len(), tools.leftOut),
		}
	})
}

// setDisconnected records the disconnected state and its reason. The tools stay as last listed.
func (s *Session) setDisconnected(reason Reason, message string) {
	s.update(func() {
		s.conn = nil
		s.status.Ready, s.status.Reason, s.status.Message = false, reason, message
	})
}

// update changes the state and wakes all goroutines that wait for a change.
func (s *Session) update(change func()) {
	s.mu.Lock()
	change()
	close(s.changed)
	s.changed = make(chan struct{})
	s.mu.Unlock()
	s.options.Changed(s.server.Key)
}

// connection returns a connection other than old. It waits while the session is connecting, but not through a pause
// between attempts.
func (s *Session) connection(ctx context.Context, old *connection) (*connection, error) {
	for {
		s.mu.Lock()
		conn, status, turn := s.conn, s.status, s.changed
		s.mu.Unlock()
		if conn != nil && conn != old {
			return conn, nil
		}
		if conn == nil && !status.Reason.connecting() {
			err := fmt.Errorf("tool server %s is not connected: %s. Continue with something else or try again later",
				s.server.Key.Server, status.Message)
			if status.Reason == Unauthorized {
				return nil, NewRefusedError(err.Error())
			}
			return nil, err
		}
		select {
		case <-turn:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}
