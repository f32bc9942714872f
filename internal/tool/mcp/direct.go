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
	methodInitialize  = "initialize"
	methodCall        = "tools/call"
	methodPing        = "ping"
	methodCancelled   = "notifications/cancelled"
	methodProgress    = "notifications/progress"
	methodListChanged = "notifications/tools/list_changed"
	// statelessVersion is the first version of MCP in which every request says what initializing said before.
	statelessVersion = "2026-07-28"
	// firstID keeps the ids of calls apart from those of the SDK, which counts from 1. It fits into 32 bits, for servers that need that.
	firstID = 1_000_000_000
	// drainTimeout is how long a server may take to end a stream after its answer. One that has ended leaves its connection to the next call.
	drainTimeout = 5 * time.Second
)

var (
	errNotMCP   = errors.New("the server's answer is not MCP")
	errNoAnswer = errors.New("the server ended the stream without an answer")
)

// direct makes the calls of a session over streamable HTTP. The SDK keeps the session: it connects, lists, pings and listens. To make a call,
// it would decode the request again and the answer three times, each time in a new buffer of 32 KB, and hand them from goroutine to goroutine;
// with many agents that was nearly half of all memory that the operator allocated.
type direct struct {
	tripper *guardedTripper
	url     *url.URL
	session string
	version string
	client  *sdk.Implementation
	// progress and changed hear what a server says beside its answer.
	progress func(*sdk.ProgressNotificationParams)
	changed  func()
	last     atomic.Int64
}

// outgoing is a message to a server: a call, a notification, or an answer.
type outgoing struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  any             `json:"params,omitempty"`
	Result  any             `json:"result,omitempty"`
	Error   *jsonrpc.Error  `json:"error,omitempty"`
}

// incoming is a message from a server.
type incoming struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *jsonrpc.Error  `json:"error"`
}

// callParams are sdk.CallToolParams without what agents do not use.
type callParams struct {
	Meta      sdk.Meta `json:"_meta,omitempty"`
	Name      string   `json:"name"`
	Arguments any      `json:"arguments"`
}

// callTool calls a tool and waits for the answer. When ctx ends, the server is told.
func (d *direct) callTool(ctx context.Context, params *sdk.CallToolParams) (*sdk.CallToolResult, error) {
	id := strconv.AppendInt(nil, d.last.Add(1), 10)
	call := outgoing{JSONRPC: "2.0", ID: id, Method: methodCall, Params: callParams{d.describe(params.Meta), params.Name, params.Arguments}}
	// The request outlives the call until its answer has been read to the end.
	during, end := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, end)
	answer, rest, err := d.ask(during, call, params.Name)
	if !stop() {
		if rest != nil {
			_ = rest.Close() // nobody waits for it
		}
		go d.cancelled(ctx, id)
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

// describe adds to a call what newer servers are told with each.
func (d *direct) describe(meta sdk.Meta) sdk.Meta {
	if d.version >= statelessVersion {
		meta[sdk.MetaKeyProtocolVersion], meta[sdk.MetaKeyClientInfo], meta[sdk.MetaKeyClientCapabilities] = d.version, d.client, struct{}{}
	}
	return meta
}

// cancelled tells the server that nobody waits for a call any more.
func (d *direct) cancelled(ctx context.Context, id json.RawMessage) {
	why := sdk.CancelledParams{Reason: ctx.Err().Error(), RequestID: id}
	fresh, _ := observe(context.WithoutCancel(ctx))
	d.tell(fresh, outgoing{JSONRPC: "2.0", Method: methodCancelled, Params: why})
}

// drain reads a body to its end.
func drain(body io.ReadCloser, end context.CancelFunc) {
	timer := time.AfterFunc(drainTimeout, end)
	_, _ = io.Copy(io.Discard, body) // nothing of it is used
	_ = body.Close()
	timer.Stop()
	end()
}

// ask sends a call and returns its answer, with what is left to drain of the body.
func (d *direct) ask(ctx context.Context, call outgoing, tool string) (incoming, io.ReadCloser, error) {
	response, err := d.post(ctx, call, tool)
	if err != nil {
		return incoming{}, nil, err
	}
	kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
	switch kind {
	case "application/json":
		answer, err := readWhole(response.Body, call.ID)
		return answer, nil, err
	case "text/event-stream":
		return (&answerStream{direct: d, id: call.ID}).follow(ctx, response.Body)
	}
	_ = response.Body.Close()
	return incoming{}, nil, errNotMCP
}

// readWhole reads an answer that is the whole body.
func readWhole(body io.ReadCloser, id json.RawMessage) (answer incoming, err error) {
	defer func() { _ = body.Close() }()
	text, err := io.ReadAll(body)
	if err != nil {
		return incoming{}, fmt.Errorf("read the answer: %w", err)
	}
	if json.Unmarshal(text, &answer) != nil || !bytes.Equal(answer.ID, id) {
		return incoming{}, errNotMCP
	}
	return answer, nil
}

// tell sends what has no answer. The server decides whether it hears it.
func (d *direct) tell(ctx context.Context, m outgoing) {
	if response, err := d.post(ctx, m, ""); err == nil {
		_ = response.Body.Close()
	}
}

// post sends a message. A response other than a success is an error.
func (d *direct) post(ctx context.Context, m outgoing, tool string) (*http.Response, error) {
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
	return d.send(request, message{Method: m.Method, ID: m.ID})
}

func (d *direct) request(ctx context.Context, method string, body io.Reader) (*http.Request, error) {
	request, err := http.NewRequestWithContext(ctx, method, d.url.String(), body)
	if err != nil {
		return nil, fmt.Errorf("make a request: %w", err)
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

func (d *direct) send(request *http.Request, sent message) (*http.Response, error) {
	response, err := d.tripper.send(request, sent)
	if err != nil {
		return nil, err
	}
	if response.StatusCode >= 200 && response.StatusCode < 300 {
		return response, nil
	}
	defer func() { _ = response.Body.Close() }()
	text, _ := io.ReadAll(response.Body) // it has a bound, and the status says the most important
	var refusal incoming
	if json.Unmarshal(text, &refusal) == nil && refusal.Error != nil {
		return nil, fmt.Errorf("%s: %s", http.StatusText(response.StatusCode), refusal.Error.Message)
	}
	return nil, errors.New(http.StatusText(response.StatusCode))
}

// result returns the result of a call, or the error with which the server answered.
func (m incoming) result() (*sdk.CallToolResult, error) {
	if m.Error != nil {
		return nil, m.Error
	}
	if result, ok := textResult(m.Result); ok {
		return result, nil
	}
	result := &sdk.CallToolResult{}
	if json.Unmarshal(m.Result, result) != nil {
		return nil, errNotMCP
	}
	return result, nil
}

// textResult decodes a result that is text, as most are. The SDK decodes the others.
func textResult(encoded json.RawMessage) (*sdk.CallToolResult, bool) {
	var wire struct {
		Content    []struct{ Type, Text string } `json:"content"`
		Structured json.RawMessage               `json:"structuredContent"`
		IsError    bool                          `json:"isError"`
		ResultType string                        `json:"resultType"`
	}
	if json.Unmarshal(encoded, &wire) != nil || wire.ResultType != "" && wire.ResultType != "complete" {
		return nil, false
	}
	result := &sdk.CallToolResult{IsError: wire.IsError}
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
