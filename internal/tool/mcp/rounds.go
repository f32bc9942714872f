// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/nestor-dev/nestor/internal/tool"
)

const (
	// maxRequests bounds the inputs that a server requests at once, and maxRequestState the state that it gets back.
	maxRequests     = 10
	maxRequestState = 64 << 10
	// busyRetries is how often a call is repeated at once if the server is too busy, with busyPause between the
	// attempts.
	busyRetries = 3
	busyPause   = time.Second
	// codeURLElicitation is the error code with which a server requires that a person opens a page before the call.
	codeURLElicitation = -32042
)

var errUnsupportedInput = errors.New("the tool requests an unsupported kind of input (sampling or roots). Continue without it")

// round is the state between two rounds of a call: the server's requests and a person's answers.
type round struct {
	Requests []roundRequest `json:"requests"`
	State    string         `json:"state,omitempty"`
	// Rejected reports that the server rejected the call until the requests are fulfilled: the responses are not sent.
	Rejected bool `json:"rejected,omitempty"`
	// Misfits counts the answers to the current request that did not fit.
	Misfits int `json:"misfits,omitempty"`
}

type roundRequest struct {
	ID string `json:"id"`
	elicitation
	Result *sdk.ElicitResult `json:"result,omitempty"`
}

// newRound converts a result that requests input.
func newRound(result *sdk.CallToolResult) (round, error) {
	r := round{State: result.RequestState}
	if len(result.InputRequests) > maxRequests || len(r.State) > maxRequestState {
		return round{}, fmt.Errorf("the server requests more than %d inputs, or a state of more than %d KiB", maxRequests, maxRequestState>>10)
	}
	for _, id := range slices.Sorted(maps.Keys(result.InputRequests)) {
		params, ok := result.InputRequests[id].(*sdk.ElicitParams)
		if !ok {
			return round{}, errUnsupportedInput
		}
		request, err := newElicitation(params)
		if err != nil {
			return round{}, err
		}
		r.Requests = append(r.Requests, roundRequest{ID: id, elicitation: request})
	}
	return r, nil
}

// newRejectedRound converts an error with which a server requires that a person opens pages first.
func newRejectedRound(rejection *jsonrpc.Error) (round, bool) {
	var data struct {
		Elicitations []*sdk.ElicitParams `json:"elicitations"`
	}
	if rejection.Code != codeURLElicitation || json.Unmarshal(rejection.Data, &data) != nil || len(data.Elicitations) == 0 || len(data.Elicitations) > maxRequests {
		return round{}, false
	}
	r := round{Rejected: true}
	for _, params := range data.Elicitations {
		if params == nil {
			return round{}, false
		}
		request, err := newElicitation(params)
		if err != nil || request.URL == "" {
			return round{}, false
		}
		r.Requests = append(r.Requests, roundRequest{ID: params.ElicitationID, elicitation: request})
	}
	return r, true
}

// answer records a person's answer to the first open request. It returns a problem if another answer is needed.
func (r *round) answer(ctx context.Context, text string) (problem string) {
	i := r.open()
	if i < 0 {
		return ""
	}
	result, problem := r.Requests[i].result(ctx, text)
	if problem != "" {
		if r.Misfits++; r.Misfits < maxAnswers {
			return problem
		}
		result = &sdk.ElicitResult{Action: actionCancel}
	}
	r.Requests[i].Result, r.Misfits = result, 0
	return ""
}

// open returns the index of the first request without a result, or -1.
func (r *round) open() int {
	return slices.IndexFunc(r.Requests, func(request roundRequest) bool { return request.Result == nil })
}

// ask returns the output with the question for the first open request.
func (r *round) ask(server, name, problem string) (tool.Output, error) {
	state, err := json.Marshal(r)
	if err != nil {
		return tool.Output{}, fmt.Errorf("encode the state of a call: %w", err)
	}
	return tool.Output{Input: &tool.InputRequest{Question: r.Requests[r.open()].question(server, name, problem), State: state}}, nil
}

// responses returns the results in the form of the protocol.
func (r *round) responses() sdk.InputResponseMap {
	if r.Rejected || len(r.Requests) == 0 {
		return nil
	}
	responses := sdk.InputResponseMap{}
	for _, request := range r.Requests {
		responses[request.ID] = request.Result
	}
	return responses
}

// refused reports whether the person did not open a page that the server requires.
func (r *round) refused() bool {
	return r.Rejected && slices.ContainsFunc(r.Requests, func(request roundRequest) bool { return request.Result.Action != actionAccept })
}

// Call runs a tool by the server's own name for it. If the server requests input, the output has a question for a
// person, and the next call continues with the answer.
func (s *Session) Call(ctx context.Context, name string, repeatable bool, call tool.Invocation) (tool.Output, error) {
	if s.server.ListOnly {
		return tool.Output{}, fmt.Errorf("the session with tool server %s only lists its tools", s.server.Key.Server)
	}
	var r round
	if call.Input != nil {
		if err := json.Unmarshal(call.Input.State, &r); err != nil {
			return tool.Output{}, fmt.Errorf("decode the state of the call: %w", err)
		}
		if problem := r.answer(ctx, call.Input.Answer); problem != "" || r.open() >= 0 {
			return r.ask(s.server.Key.Server, name, problem)
		}
		if r.refused() {
			return tool.Output{Text: "The person did not open the page that the tool requires, so it did not run.", IsError: true}, nil
		}
	}
	for range busyRetries {
		result, err := s.attempt(ctx, name, repeatable, call, r)
		var rejection *jsonrpc.Error
		if errors.As(err, &rejection) {
			next, ok := newRejectedRound(rejection)
			if !ok {
				return tool.Output{}, err
			}
			return next.ask(s.server.Key.Server, name, "")
		}
		if err != nil {
			return tool.Output{}, err
		}
		if !result.NeedsInput() {
			return output(result)
		}
		if r, err = newRound(result); err != nil {
			return tool.Output{Text: err.Error() + ".", IsError: true}, nil //nolint:nilerr // the model can act on it
		}
		if len(r.Requests) > 0 {
			return r.ask(s.server.Key.Server, name, "")
		}
		if err := Pause(ctx, busyPause); err != nil { // the server only requests the call again, later
			return tool.Output{}, err
		}
	}
	return tool.Output{}, fmt.Errorf("tool server %s is too busy: try again later", s.server.Key.Server)
}
