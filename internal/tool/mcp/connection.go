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
	"github.com/nestor-dev/nestor/internal/outbound/oauth"
)

// pingTimeout limits how long a suspect connection may take to answer a ping.
const pingTimeout = 5 * time.Second

var (
	errUnauthorized  = errors.New("the server refuses the credentials")
	errInvalidServer = errors.New("invalid tool server")
	errSlowConnect   = errors.New("the server does not answer in time")
)

// connection is one connection of a session. Once over is closed, no new call may use it; ended is closed when the
// calls in flight are done too.
type connection struct {
	session     *sdk.ClientSession
	direct      *directCaller // nil where the SDK makes the calls
	listChanged <-chan struct{}
	cancel      context.CancelCauseFunc
	// calls is held for reading by each call in flight, and locked permanently by close.
	calls             sync.RWMutex
	over, idle, ended chan struct{}
	once              sync.Once
	err               error // why it ended, unless it was closed here

	activeMu sync.Mutex
	active   map[*activeCall]bool // the calls in flight
}

// connect opens a connection and lists the server's tools.
func (s *Session) connect() (*connection, listing, error) {
	tripper, err := s.tripper()
	if err != nil {
		return nil, listing{}, fmt.Errorf("%w: %w", errInvalidServer, err)
	}
	// The SSE transport reads its stream under this context, so it must outlive connecting, and the session while
	// calls are in flight. Only connecting is bound by a time limit and by the end of the session.
	ctx, observed := observe(context.Background())
	ctx, cancel := context.WithCancelCause(ctx)
	timer := time.AfterFunc(s.options.ConnectTimeout, func() { cancel(errSlowConnect) })
	defer timer.Stop()
	defer context.AfterFunc(s.ctx, func() { cancel(context.Canceled) })()

	changed := make(chan struct{}, 1)
	notify := func() {
		select {
		case changed <- struct{}{}:
		default: // a change is pending already
		}
	}
	nestor := &sdk.Implementation{Name: "nestor", Version: s.options.Version}
	conn := &connection{listChanged: changed, cancel: cancel, over: make(chan struct{}), idle: make(chan struct{}), ended: make(chan struct{})}
	session, err := s.client(nestor, notify, conn).Connect(ctx, s.server.transport(tripper), nil)
	if err != nil {
		err = s.connectError(ctx, observed, err)
		cancel(nil)
		return nil, listing{}, err
	}
	conn.session = session
	if s.server.Transport == StreamableHTTP {
		conn.direct = &directCaller{
			tripper: tripper, url: tripper.origin, session: session.ID(), version: session.InitializeResult().ProtocolVersion,
			client: nestor, onListChanged: notify,
		}
		conn.direct.last.Store(firstID)
	}
	go conn.watch()
	tools, err := s.list(ctx, session)
	if errors.Is(err, context.Canceled) && s.ctx.Err() == nil && !errors.Is(context.Cause(ctx), errSlowConnect) {
		// The connection has ended meanwhile and cancelled its context: report what ended it.
		<-conn.ended
		err = cmp.Or(conn.err, sdk.ErrConnectionClosed)
	}
	if err != nil {
		err = s.connectError(ctx, observed, fmt.Errorf("list tools: %w", err))
		conn.close()
		return nil, listing{}, err
	}
	return conn, tools, nil
}

// connectError returns why there is no connection, in a form that may be shown.
func (s *Session) connectError(ctx context.Context, observed *exchange, err error) error {
	var noToken *oauth.Error
	switch {
	case errors.Is(context.Cause(ctx), errSlowConnect):
		return errSlowConnect
	case errors.As(observed.cause(), &noToken):
		return &unusableError{tokenReasons[noToken.Problem], observed.message(err)}
	case errors.As(observed.cause(), new(*outbound.NotAllowedError)) || errors.Is(observed.cause(), errRedirect):
		return &unusableError{NotAllowed, observed.message(err)}
	case observed.cause() != nil || errors.As(err, new(*unusableError)):
		return &unusableError{InvalidResponse, observed.message(err)}
	case observed.unauthorized():
		check := "check headersFrom and the Secret that it names"
		if s.server.Tokens != nil {
			check = "log out and in again"
		} else if s.tokens != nil {
			check = "check what the token of auth.oauth is for: scopes, audience and resource"
		}
		return fmt.Errorf("%w (%s): %s", errUnauthorized, observed.message(err), check)
	default:
		return errors.New(observed.message(err))
	}
}

func (s *Session) client(nestor *sdk.Implementation, changed func(), conn *connection) *sdk.Client {
	return sdk.NewClient(nestor, &sdk.ClientOptions{
		Capabilities:                capabilities(),
		ElicitationHandler:          conn.elicitOnSession,
		ProgressNotificationHandler: conn.progressOnSession,
		MultiRoundTrip:              &sdk.MultiRoundTripOptions{Disabled: true},
		KeepAlive:                   s.options.KeepAlive,
		ToolListChangedHandler:      func(context.Context, *sdk.ToolListChangedRequest) { changed() },
	})
}

func (c *connection) watch() {
	c.err = c.session.Wait()
	c.close()
	c.cancel(nil)
	<-c.idle
	close(c.ended)
}

// call calls a tool. The SDK makes the call if the server requires arguments in headers, and for the older transport.
func (c *connection) call(ctx context.Context, params *sdk.CallToolParams, inHeaders bool) (*sdk.CallToolResult, error) {
	if c.direct == nil || inHeaders && c.direct.version >= statelessVersion {
		return c.session.CallTool(ctx, params)
	}
	if !c.calls.TryRLock() {
		return nil, sdk.ErrConnectionClosed
	}
	defer c.calls.RUnlock()
	return c.direct.callTool(ctx, params)
}

// close closes the connection without waiting for the calls in flight.
func (c *connection) close() {
	c.once.Do(func() {
		close(c.over)
		go func() {
			c.calls.Lock()
			_ = c.session.Close() // the connection is no longer used
			close(c.idle)
		}()
	})
}

// sleep waits, and reports whether the connection and ctx are still alive afterwards.
func (c *connection) sleep(ctx context.Context, pause time.Duration) bool {
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

// ping pings the server and reports whether it still has the session.
func (c *connection) ping(ctx context.Context) bool {
	select {
	case <-c.over:
		return false
	default:
	}
	ctx, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	ctx, observed := observe(ctx)
	err := c.session.Ping(ctx, nil)
	// A server that answers at all is alive, even if it does not support ping.
	return err == nil || observed.wasAccepted() && errors.As(err, new(*jsonrpc.Error))
}
