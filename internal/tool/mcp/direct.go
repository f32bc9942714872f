// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	methodCall        = "tools/call"
	methodPing        = "ping"
	methodCancelled   = "notifications/cancelled"
	methodListChanged = "notifications/tools/list_changed"
	methodProgress    = "notifications/progress"
	methodElicit      = "elicitation/create"
	// statelessVersion is the first version of MCP in which every request repeats what initialization carried before.
	statelessVersion = "2026-07-28"
	// firstID separates the IDs of calls from those of the SDK, which counts from 1. It fits into 32 bits, which some
	// servers require.
	firstID = 1_000_000_000
	// drainTimeout limits how long a server may take to end a stream after its answer. A stream that has ended frees
	// its connection for the next call.
	drainTimeout = 5 * time.Second
)

var (
	errNotMCP   = errors.New("the server's answer is not MCP")
	errNoAnswer = errors.New("the server ended the stream without an answer")
)

// directCaller makes the calls of a session over streamable HTTP. The SDK manages the session: it connects, lists,
// pings and listens. For a call it would decode the request again and the answer three times, each in a new 32 KB
// buffer, and pass them between goroutines; with many agents that was nearly half of all memory that the operator
// allocated.
type directCaller struct {
	tripper *guardedTripper
	url     *url.URL
	session string
	version string
	client  *sdk.Implementation
	// onListChanged is called when the server has changed its list of tools.
	onListChanged func()
	last          atomic.Int64
}

// rpcRequest is a message to a server: a call, a notification, or an answer.
type rpcRequest struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  any             `json:"params,omitempty"`
	Result  any             `json:"result,omitempty"`
	Error   *jsonrpc.Error  `json:"error,omitempty"`
}

type rpcResponse struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *jsonrpc.Error  `json:"error"`
}

// callParams are the fields of sdk.CallToolParams that agents use.
type callParams struct {
	Meta      sdk.Meta `json:"_meta,omitempty"`
	Name      string   `json:"name"`
	Arguments any      `json:"arguments"`
	// InputResponses and RequestState continue a call that requested input.
	InputResponses sdk.InputResponseMap `json:"inputResponses,omitempty"`
	RequestState   string               `json:"requestState,omitempty"`
}

// callTool calls a tool and waits for the answer. When ctx ends, it notifies the server.
func (d *directCaller) callTool(ctx context.Context, params *sdk.CallToolParams) (*sdk.CallToolResult, error) {
	id := strconv.AppendInt(nil, d.last.Add(1), 10)
	call := rpcRequest{JSONRPC: "2.0", ID: id, Method: methodCall, Params: callParams{d.withClientMeta(params.Meta), params.Name, params.Arguments, params.InputResponses, params.RequestState}}
	// The request outlives the call until its body has been drained.
	during, end := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, end)
	answer, rest, err := d.roundTrip(during, call, params.Name)
	if !stop() {
		if rest != nil {
			_ = rest.Close() // the answer is not needed
		}
		go d.notifyCancelled(ctx, id)
		return nil, ctx.Err()
	}
	if rest == nil {
		end()
	} else {
		go drain(rest, end)
	}
	if err != nil {
		return nil, err
	}
	return answer.result()
}

// withClientMeta adds the metadata that newer servers expect with each call.
func (d *directCaller) withClientMeta(meta sdk.Meta) sdk.Meta {
	if d.version >= statelessVersion {
		meta[sdk.MetaKeyProtocolVersion], meta[sdk.MetaKeyClientInfo], meta[sdk.MetaKeyClientCapabilities] = d.version, d.client, capabilities()
	}
	return meta
}

func (d *directCaller) notifyCancelled(ctx context.Context, id json.RawMessage) {
	why := sdk.CancelledParams{Reason: ctx.Err().Error(), RequestID: id}
	fresh, _ := observe(context.WithoutCancel(ctx))
	d.notify(fresh, rpcRequest{JSONRPC: "2.0", Method: methodCancelled, Params: why})
}

func drain(body io.ReadCloser, end context.CancelFunc) {
	timer := time.AfterFunc(drainTimeout, end)
	_, _ = io.Copy(io.Discard, body) // nothing of it is used
	_ = body.Close()
	timer.Stop()
	end()
}

// roundTrip sends a call and returns its answer, with the rest of the body to drain.
func (d *directCaller) roundTrip(ctx context.Context, call rpcRequest, tool string) (rpcResponse, io.ReadCloser, error) {
	response, err := d.post(ctx, call, tool)
	if err != nil {
		return rpcResponse{}, nil, err
	}
	kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
	switch kind {
	case "application/json":
		answer, err := readBody(response.Body, call.ID)
		return answer, nil, err
	case "text/event-stream":
		return (&answerStream{direct: d, id: call.ID}).follow(ctx, response.Body)
	}
	_ = response.Body.Close()
	return rpcResponse{}, nil, errNotMCP
}

func readBody(body io.ReadCloser, id json.RawMessage) (answer rpcResponse, err error) {
	defer func() { _ = body.Close() }()
	text, err := io.ReadAll(body)
	if err != nil {
		return rpcResponse{}, fmt.Errorf("read the answer: %w", err)
	}
	if json.Unmarshal(text, &answer) != nil || !bytes.Equal(answer.ID, id) {
		return rpcResponse{}, errNotMCP
	}
	return answer, nil
}

// notify sends a message that has no answer. Errors are ignored.
func (d *directCaller) notify(ctx context.Context, m rpcRequest) {
	if response, err := d.post(ctx, m, ""); err == nil {
		_ = response.Body.Close()
	}
}

// post sends a message. A response other than a success is an error.
func (d *directCaller) post(ctx context.Context, m rpcRequest, tool string) (*http.Response, error) {
	body, err := json.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("encode a message: %w", err)
	}
	request, err := d.request(ctx, http.MethodPost, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json, text/event-stream")
	if d.version >= statelessVersion && m.Method != "" {
		request.Header.Set("Mcp-Method", m.Method)
		if tool != "" {
			request.Header.Set("Mcp-Name", tool)
		}
	}
	return d.send(request, outgoingMessage{Method: m.Method, ID: m.ID})
}

func (d *directCaller) request(ctx context.Context, method string, body io.Reader) (*http.Request, error) {
	request, err := http.NewRequestWithContext(ctx, method, d.url.String(), body)
	if err != nil {
		return nil, fmt.Errorf("create a request: %w", err)
	}
	if user := d.url.User; user != nil {
		password, _ := user.Password()
		request.SetBasicAuth(user.Username(), password)
	}
	request.Header.Set("Mcp-Protocol-Version", d.version)
	if d.session != "" {
		request.Header.Set("Mcp-Session-Id", d.session)
	}
	return request, nil
}

func (d *directCaller) send(request *http.Request, sent outgoingMessage) (*http.Response, error) {
	response, err := d.tripper.send(request, sent)
	if err != nil {
		return nil, err
	}
	if response.StatusCode >= 200 && response.StatusCode < 300 {
		return response, nil
	}
	defer func() { _ = response.Body.Close() }()
	text, _ := io.ReadAll(response.Body) // it is bounded, and the status matters most
	var refusal rpcResponse
	if json.Unmarshal(text, &refusal) == nil && refusal.Error != nil {
		return nil, fmt.Errorf("%s: %s", http.StatusText(response.StatusCode), refusal.Error.Message)
	}
	return nil, errors.New(http.StatusText(response.StatusCode))
}

// result returns the result of a call, or the error with which the server answered.
func (m rpcResponse) result() (*sdk.CallToolResult, error) {
	if m.Error != nil {
		return nil, m.Error
	}
	if result, ok := textResult(m.Result); ok {
		return result, nil
	}
	result := &sdk.CallToolResult{}
	var exact struct {
		Structured json.RawMessage `json:"structuredContent"`
	}
	if json.Unmarshal(m.Result, result) != nil || json.Unmarshal(m.Result, &exact) != nil {
		return nil, errNotMCP
	}
	if result.StructuredContent != nil {
		result.StructuredContent = exact.Structured // the SDK would round large numbers
	}
	return result, nil
}

// textResult decodes a text-only result, the common case. The SDK decodes the others.
func textResult(encoded json.RawMessage) (*sdk.CallToolResult, bool) {
	var wire struct {
		Content    []struct{ Type, Text string } `json:"content"`
		Structured json.RawMessage               `json:"structuredContent"`
		IsError    bool                          `json:"isError"`
		ResultType string                        `json:"resultType"`
		Meta       sdk.Meta                      `json:"_meta"`
	}
	if json.Unmarshal(encoded, &wire) != nil || wire.ResultType != "" && wire.ResultType != "complete" {
		return nil, false
	}
	result := &sdk.CallToolResult{Meta: wire.Meta, IsError: wire.IsError}
	if len(wire.Structured) > 0 && string(wire.Structured) != "null" {
		result.StructuredContent = wire.Structured
	}
	for _, content := range wire.Content {
		if content.Type != "text" {
			return nil, false
		}
		result.Content = append(result.Content, &sdk.TextContent{Text: content.Text})
	}
	return result, true
}
