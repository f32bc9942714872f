// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"context"
	"errors"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/nestor-dev/nestor/internal/outbound/oauth"
	"github.com/nestor-dev/nestor/internal/tool"
)

const IdempotencyKeyMeta = "nestor.dev/idempotency-key"

// attempt sends a call. A lost call is sent a second time on a working connection if the tool is repeatable, or if the
// call cannot have reached the server. The error of a call that requires input is a *jsonrpc.Error.
func (s *Session) attempt(ctx context.Context, name string, repeatable bool, call tool.Invocation, r round) (*sdk.CallToolResult, error) {
	conn, err := s.connection(ctx, nil)
	if err != nil {
		return nil, err
	}
	result, lost, err := s.send(ctx, conn, name, call, r)
	if lost != nil && ctx.Err() == nil && lost.retryable(repeatable) {
		if conn, err = s.workingConnection(ctx, conn); err != nil {
			return nil, err
		}
		result, lost, err = s.send(ctx, conn, name, call, r)
	}
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case lost != nil:
		return nil, lost.explain(s.server.Key.Server)
	}
	return result, err
}

// send makes one attempt. It returns a result, a lost call that the server did not answer, or the error with which
// the server answered.
func (s *Session) send(ctx context.Context, conn *connection, name string, call tool.Invocation, r round) (*sdk.CallToolResult, *lostCall, error) {
	ctx, observed := observe(ctx)
	active := newActiveCall(ctx, s.server.Key.Server, name, call)
	defer conn.register(active)()
	ctx = withActiveCall(ctx, active)
	params := &sdk.CallToolParams{Name: name, Arguments: call.Arguments, Meta: sdk.Meta{}, InputResponses: r.responses(), RequestState: r.State}
	if len(call.Arguments) == 0 {
		params.Arguments = struct{}{}
	}
	if call.IdempotencyKey != "" {
		params.Meta[IdempotencyKeyMeta] = call.IdempotencyKey
	}
	if active.token != "" {
		params.Meta["progressToken"] = active.token
	}
	result, err := conn.call(ctx, params, s.inHeaders(name))
	var answer *jsonrpc.Error
	switch {
	case err == nil:
		return result, nil, nil
	case observed.wasAccepted() && errors.As(err, &answer) && answer.Code == codeURLElicitation:
		return nil, nil, answer
	case observed.wasAccepted() && errors.As(err, &answer):
		return nil, nil, fmt.Errorf("the server answers: %s", observed.messageUpTo(errors.New(answer.Message), maxAnswer))
	case errors.As(observed.cause(), new(*oauth.Error)):
		conn.close() // without tokens nothing works: connecting again shows why, until it succeeds
	}
	return nil, &lostCall{err, observed}, nil
}

// workingConnection returns conn if it still works, else its successor.
func (s *Session) workingConnection(ctx context.Context, conn *connection) (*connection, error) {
	if conn.ping(ctx) {
		return conn, nil
	}
	conn.close()
	return s.connection(ctx, conn)
}

// lostCall is a call that the server did not answer.
type lostCall struct {
	err      error
	exchange *exchange
}

// retryable reports whether sending the call a second time is safe and can help.
func (l *lostCall) retryable(repeatable bool) bool {
	if l.exchange.unauthorized() || l.exchange.throttled() {
		return false
	}
	return repeatable || l.exchange.hadNoEffect()
}

// RefusedError is the error of a call that had no effect, because the server does not accept the credentials.
type RefusedError struct{ message string }

func (e *RefusedError) Error() string { return e.message }

// NewRefusedError returns the error of a call that was not made, because there is no session with the credentials.
func NewRefusedError(message string) *RefusedError { return &RefusedError{message} }

func (l *lostCall) explain(server string) error {
	text := l.exchange.message(l.err)
	switch {
	case l.exchange.unauthorized():
		err := fmt.Errorf("tool server %s refuses the credentials of this namespace (%s): an operator must correct them", server, text)
		if l.exchange.hadNoEffect() {
			return NewRefusedError(err.Error())
		}
		return err
	case l.exchange.throttled():
		return fmt.Errorf("tool server %s is rate limited (%s): try again later", server, text)
	case l.exchange.hadNoEffect():
		return fmt.Errorf("tool server %s did not take the call (%s): try again later", server, text)
	default:
		return fmt.Errorf("the connection to tool server %s was lost during the call (%s): %w", server, text, tool.ErrOutcomeUnknown)
	}
}
