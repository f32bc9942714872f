// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package bare

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/engine"
	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/model"
	"github.com/nestor-dev/nestor/internal/model/openai"
	"github.com/nestor-dev/nestor/internal/model/wire"
)

const (
	provider  = "bench/default"
	modelName = "in-process"
	// summaryBytes is the length of the summary when a history is compacted.
	summaryBytes = 2 << 10
)

// models is an in-process model, implemented as the transport of the real client. It calls the tool as often as the
// load requires, then submits a result.
type models struct {
	client model.Client

	mu           sync.Mutex
	turns        int            // of each agent
	callsByAgent map[string]int // calls so far, by agent UID

	// requestBytes counts the bytes of requests, said those of the replies' texts and calls. first is the size of the last
	// agent's first request.
	requestBytes, replyBytes, firstRequestBytes, compactions atomic.Int64
}

func newModels() (*models, error) {
	m := &models{callsByAgent: map[string]int{}}
	var err error
	m.client, err = openai.NewClient(wire.Endpoint{BaseURL: "http://model.invalid/v1", HTTPClient: wire.NewHTTPClient(m)})
	return m, err
}

// setTurns sets the number of tool turns of agents that start from now on.
func (m *models) setTurns(turns int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.turns = turns
}

// Route implements engine.Models.
func (m *models) Route(context.Context, ledger.Agent) (string, error) { return provider, nil }

// Endpoint implements engine.Models.
func (m *models) Endpoint(context.Context, ledger.Agent, string) (engine.Endpoint, error) {
	return engine.Endpoint{Client: m.client, Model: modelName}, nil
}

// callInfo identifies a call for the transport, so that it does not have to parse the request.
type callInfo struct {
	agent   string
	purpose agent.Purpose
}

type callInfoKey struct{}

// scope is the engine's Scope: it adds the call to the context of a request.
func (m *models) scope(ctx context.Context, a ledger.Agent, _ agent.State, e agent.Effect) context.Context {
	if call, ok := e.(agent.CallModel); ok {
		return context.WithValue(ctx, callInfoKey{}, callInfo{agent: a.UID, purpose: call.Purpose})
	}
	return ctx
}

// RoundTrip implements http.RoundTripper. The answer is an event stream, like that of real providers.
func (m *models) RoundTrip(request *http.Request) (*http.Response, error) {
	size, err := io.Copy(io.Discard, request.Body)
	if err != nil {
		return nil, err
	}
	_ = request.Body.Close() // it is in memory
	m.requestBytes.Add(size)
	body := m.answer(request.Context().Value(callInfoKey{}).(callInfo), size)
	return &http.Response{
		Status: "200 OK", StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: request,
		Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)),
	}, nil
}

func (m *models) answer(call callInfo, size int64) []byte {
	if call.purpose == agent.PurposeCompact {
		number := m.compactions.Add(1)
		summary := text(fmt.Sprintf("summary %d", number), summaryBytes)
		m.replyBytes.Add(int64(len(summary)))
		return stream(size, fmt.Sprintf(`"content":%q`, summary), "stop")
	}
	m.mu.Lock()
	m.callsByAgent[call.agent]++
	turn, last := m.callsByAgent[call.agent], m.turns
	m.mu.Unlock()
	if turn == 1 {
		m.firstRequestBytes.Store(size)
	}
	name, arguments := toolName, fmt.Sprintf(`{"item":"Item %d"}`, turn)
	if turn > last {
		name, arguments = "submit_result", `{"result":"Work done."}`
	}
	id := fmt.Sprintf("call_%d", turn)
	m.replyBytes.Add(int64(len(id) + len(name) + len(arguments)))
	return stream(size, fmt.Sprintf(`"tool_calls":[{"index":0,"id":%q,"type":"function","function":{"name":%q,"arguments":%q}}]`, id, name, arguments), "tool_calls")
}

// stream returns the answer to a request of the given size as server-sent events.
func stream(size int64, delta, finish string) []byte {
	const bytesPerToken = 4
	var b bytes.Buffer
	b.WriteString(`data: {"id":"chatcmpl-1","object":"chat.completion.chunk","model":"` + modelName + `","choices":[{"index":0,"delta":{"role":"assistant",` + delta + `},"finish_reason":null}]}` + "\n\n")
	fmt.Fprintf(&b, `data: {"id":"chatcmpl-1","object":"chat.completion.chunk","model":"%s","choices":[{"index":0,"delta":{},"finish_reason":%q}],"usage":{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d}}`+"\n\n",
		modelName, finish, size/bytesPerToken, len(delta)/bytesPerToken, size/bytesPerToken+int64(len(delta)/bytesPerToken))
	b.WriteString("data: [DONE]\n\n")
	return b.Bytes()
}
