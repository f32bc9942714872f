// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/nestor-dev/nestor/internal/outbound"
)

// pingTimeout is how long a connection under suspicion may take to answer.
const pingTimeout = 5 * time.Second

var (
	errUnauthorized  = errors.New("the server refuses the headers")
	errInvalidServer = errors.New("invalid tool server")
	errSlowConnect   = errors.New("the server does not answer in time")
)

// connection is one connection of a session. Once it is over, no new call may use
// it; it has ended when the calls under way are done, too.
type connection struct {
	session     *sdk.ClientSession
	listChanged <-chan struct{}
	cancel      context.CancelCauseFunc
	over, ended chan struct{}
	once        sync.Once
	why         error // why it has ended, if it was not closed here
}

// connect opens a connection and lists the server's tools.
func (s *Session) connect() (*connection, listing, error) {
	transport, err := s.server.transport(s.options.HTTP, &s.tasks)
	if err != nil {
		return nil, listing{}, fmt.Errorf("%w: %w", errInvalidServer, err)
	}
	// The SSE transport reads its stream under this context, so it must outlive
	// connecting, and the session too while calls are under way. Only connecting
	// is bound by a time limit and by the session's end.
	ctx, seen := observe(context.Background())
	ctx, cancel := context.WithCancelCause(ctx)
	timer := time.AfterFunc(s.options.ConnectTimeout, func() { cancel(errSlowConnect) })
	defer timer.Stop()
	defer context.AfterFunc(s.ctx, func() { cancel(context.Canceled) })()

	changed := make(chan struct{}, 1)
	session, err := s.client(changed).Connect(ctx, transport, nil)
	if err != nil {
		err = connectError(ctx, seen, err)
		cancel(nil)
		return nil, listing{}, err
	}
	conn := &connection{session: session, listChanged: changed, cancel: cancel, over: make(chan struct{}), ended: make(chan struct{})}
	go conn.watch()
	tools, err := s.list(ctx, session)
	if errors.Is(err, context.Canceled) && s.ctx.Err() == nil && !errors.Is(context.Cause(ctx), errSlowConnect) {
		// The connection has ended meanwhile, and so has its context: what ended it is the reason.
		<-conn.ended
		err = cmp.Or(conn.why, sdk.ErrConnectionClosed)
	}
	if err != nil {
		err = connectError(ctx, seen, fmt.Errorf("list tools: %w", err))
		conn.close()
		return nil, listing{}, err
	}
	return conn, tools, nil
}

// connectError says why there is no connection, in words that may be shown.
func connectError(ctx context.Context, seen *exchange, err error) error {
	switch {
	case errors.Is(context.Cause(ctx), errSlowConnect):
		return errSlowConnect
	case errors.As(seen.cause(), new(*outbound.NotAllowedError)) || errors.Is(seen.cause(), errRedirect):
		return &unusableError{NotAllowed, seen.words(err)}
	case seen.cause() != nil || errors.As(err, new(*unusableError)):
		return &unusableError{BadAnswer, seen.words(err)}
	case seen.unauthorized():
		return fmt.Errorf("%w (%s): check headersFrom and the Secret that it names", errUnauthorized, seen.words(err))
	default:
		return errors.New(seen.words(err))
	}
}

// client returns an MCP client for one connection.
func (s *Session) client(changed chan<- struct{}) *sdk.Client {
	return sdk.NewClient(&sdk.Implementation{Name: "nestor", Version: s.options.Version}, &sdk.ClientOptions{
		// Servers get no sampling, no elicitation and no roots from an agent.
		Capabilities:   &sdk.ClientCapabilities{},
		MultiRoundTrip: &sdk.MultiRoundTripOptions{Disabled: true},
		KeepAlive:      s.options.KeepAlive,
		ToolListChangedHandler: func(context.Context, *sdk.ToolListChangedRequest) {
			select {
			case changed <- struct{}{}:
			default: // a change is pending already
			}
		},
		ProgressNotificationHandler: func(_ context.Context, request *sdk.ProgressNotificationClientRequest) {
			s.progress.notify(request.Params)
		},
	})
}

// watch notices the end of the connection.
func (c *connection) watch() {
	c.why = c.session.Wait()
	c.close()
	c.cancel(nil)
	close(c.ended)
}

// close gives the connection up. It does not wait for the calls under way.
func (c *connection) close() {
	c.once.Do(func() {
		close(c.over)
		go func() { _ = c.session.Close() }() // nobody is left to whom an error matters
	})
}

// rest waits, and reports whether the connection and ctx outlast it.
func (c *connection) rest(ctx context.Context, pause time.Duration) bool {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-c.over:
	case <-ctx.Done():
	}
	return false
}

// alive asks whether the server still knows the session.
func (c *connection) alive(ctx context.Context) bool {
	select {
	case <-c.over:
		return false
	default:
	}
	ctx, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	ctx, seen := observe(ctx)
	err := c.session.Ping(ctx, nil)
	// A server that answers is alive, if only to say that it knows no ping.
	return err == nil || seen.taken() && errors.As(err, new(*jsonrpc.Error))
}
