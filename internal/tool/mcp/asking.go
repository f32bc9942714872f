// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"strconv"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/nestor-dev/nestor/internal/shorten"
	"github.com/nestor-dev/nestor/internal/tool"
)

// maxConcurrentRequests bounds the requests of a server during one call.
const maxConcurrentRequests = 10

// maxProgress bounds the message of a progress notification.
const maxProgress = 200

// capabilities are what agents offer to servers: elicitation, which becomes a question to a person, and neither
// sampling nor roots.
func capabilities() *sdk.ClientCapabilities {
	return &sdk.ClientCapabilities{Elicitation: &sdk.ElicitationCapabilities{
		Form: &sdk.FormElicitationCapabilities{}, URL: &sdk.URLElicitationCapabilities{},
	}}
}

// activeCall is a call in flight. The server may request input and report progress during it.
type activeCall struct {
	ctx          context.Context
	server, name string
	call         tool.Invocation
	requests     chan struct{} // holds a value for each request that is being answered
	// token identifies the call in progress notifications; it is empty if none are requested.
	token string
}

type activeCallKey struct{}

func newActiveCall(ctx context.Context, server, name string, call tool.Invocation) *activeCall {
	a := &activeCall{ctx: ctx, server: server, name: name, call: call, requests: make(chan struct{}, maxConcurrentRequests)}
	if call.Progress != nil {
		a.token = "nestor-" + strconv.FormatInt(progressTokens.Add(1), 10)
	}
	return a
}

// progressTokens counts the calls that request progress notifications.
var progressTokens atomic.Int64

func (a *activeCall) progress(params *sdk.ProgressNotificationParams) {
	if a == nil || a.token == "" || params == nil || params.ProgressToken != a.token || !finite(params.Progress) || !finite(params.Total) {
		return
	}
	a.call.Progress(tool.Progress{Done: max(params.Progress, 0), Total: max(params.Total, 0), Message: shorten.UntrustedLine(params.Message, maxProgress)})
}

func finite(f float64) bool { return !math.IsNaN(f) && !math.IsInf(f, 0) }

// progressOnSession handles a progress notification that did not arrive on the stream of a call.
func (c *connection) progressOnSession(_ context.Context, request *sdk.ProgressNotificationClientRequest) {
	c.activeMu.Lock()
	defer c.activeMu.Unlock()
	for a := range c.active {
		a.progress(request.Params)
	}
}

func withActiveCall(ctx context.Context, a *activeCall) context.Context {
	return context.WithValue(ctx, activeCallKey{}, a)
}

func activeCallFrom(ctx context.Context) *activeCall {
	a, _ := ctx.Value(activeCallKey{}).(*activeCall)
	return a
}

// elicit passes the request to the person until an answer is usable, at most maxAnswers times.
func (a *activeCall) elicit(ctx context.Context, params *sdk.ElicitParams) (*sdk.ElicitResult, error) {
	if a == nil || a.call.Ask == nil || params == nil {
		return &sdk.ElicitResult{Action: actionCancel}, nil
	}
	request, err := newElicitation(params)
	if err != nil {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: err.Error()}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(a.ctx, cancel)()
	problem := ""
	for range maxAnswers {
		answer, err := a.call.Ask(ctx, request.question(a.server, a.name, problem))
		if err != nil {
			return nil, err
		}
		var result *sdk.ElicitResult
		if result, problem = request.result(ctx, answer); problem == "" {
			return result, nil
		}
	}
	return &sdk.ElicitResult{Action: actionCancel}, nil
}

// beginRequest reports whether another request of the server may be answered. endRequest must be called after it.
func (a *activeCall) beginRequest() bool {
	select {
	case a.requests <- struct{}{}:
		return true
	default:
		return false
	}
}

func (a *activeCall) endRequest() { <-a.requests }

// answerElicitation answers a request of the server that arrived on the stream of a call.
func (d *directCaller) answerElicitation(ctx context.Context, m rpcResponse) {
	reply := rpcRequest{JSONRPC: "2.0", ID: m.ID}
	var params sdk.ElicitParams
	active := activeCallFrom(ctx)
	switch {
	case json.Unmarshal(m.Params, &params) != nil:
		reply.Error = &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "invalid parameters"}
	case active == nil || !active.beginRequest():
		reply.Result = &sdk.ElicitResult{Action: actionCancel}
	default:
		go func() {
			defer active.endRequest()
			result, err := active.elicit(ctx, &params)
			if ctx.Err() != nil {
				return // the call is over
			}
			var refusal *jsonrpc.Error
			switch {
			case errors.As(err, &refusal):
				reply.Error = refusal
			case err != nil:
				reply.Result = &sdk.ElicitResult{Action: actionCancel}
			default:
				reply.Result = result
			}
			d.notify(ctx, reply)
		}()
		return
	}
	d.notify(ctx, reply)
}

// elicitOnSession answers a request that does not belong to a call's stream. It belongs to the only call in flight;
// with several calls it is cancelled, because it may be for any of their users.
func (c *connection) elicitOnSession(ctx context.Context, request *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
	c.activeMu.Lock()
	var only *activeCall
	for a := range c.active {
		only = a
	}
	if len(c.active) != 1 || !only.beginRequest() {
		only = nil
	}
	c.activeMu.Unlock()
	if only == nil {
		return &sdk.ElicitResult{Action: actionCancel}, nil
	}
	defer only.endRequest()
	return only.elicit(ctx, request.Params)
}

// register adds a call to those in flight until the returned function is called.
func (c *connection) register(a *activeCall) (unregister func()) {
	c.activeMu.Lock()
	defer c.activeMu.Unlock()
	if c.active == nil {
		c.active = map[*activeCall]bool{}
	}
	c.active[a] = true
	return func() {
		c.activeMu.Lock()
		defer c.activeMu.Unlock()
		delete(c.active, a)
	}
}
