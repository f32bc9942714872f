// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package mcp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/nestor-dev/nestor/internal/tool"
	"github.com/nestor-dev/nestor/internal/tool/mcp"
)

var colorForm = json.RawMessage(`{"type":"object","properties":{"color":{"type":"string","enum":["red","blue"]}},"required":["color"]}`)

// deploys is a tool that requests a color and a confirmation, and counts its effects.
type deploys struct {
	mu    sync.Mutex
	done  []string
	calls int
}

func (d *deploys) handle(_ context.Context, request *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.calls++
	answers := request.Params.InputResponses
	if len(answers) == 0 {
		return &sdk.CallToolResult{RequestState: "state-1", InputRequests: sdk.InputRequestMap{
			"a": &sdk.ElicitParams{Message: "Which color?", RequestedSchema: colorForm}, "b": &sdk.ElicitParams{Message: "Really?"},
		}}, nil
	}
	color, sure := answers["a"].(*sdk.ElicitResult), answers["b"].(*sdk.ElicitResult)
	if color.Action != "accept" || sure.Action != "accept" {
		return &sdk.CallToolResult{Content: []sdk.Content{text("not deployed: " + color.Action + " " + sure.Action)}}, nil
	}
	if request.Params.RequestState != "state-1" {
		return nil, fmt.Errorf("the state is %q", request.Params.RequestState)
	}
	d.done = append(d.done, color.Content["color"].(string))
	return &sdk.CallToolResult{Content: []sdk.Content{text("deployed")}}, nil
}

// respond runs a tool and gives the answers to its questions in order.
func respond(t *testing.T, session *mcp.Session, name string, answers ...string) (tool.Result, []string) {
	t.Helper()
	return converse(t, session, name, func(string) (string, bool) {
		if len(answers) == 0 {
			return "", false
		}
		text := answers[0]
		answers = answers[1:]
		return text, true
	})
}

// respondByQuestion is like respond for questions in any order, which contain the keys.
func respondByQuestion(t *testing.T, session *mcp.Session, name string, answers map[string]string) (tool.Result, []string) {
	t.Helper()
	return converse(t, session, name, func(question string) (string, bool) {
		for word, text := range answers {
			if strings.Contains(question, word) {
				return text, true
			}
		}
		return "", false
	})
}

// converse runs a tool and answers the questions that it asks during the call or ends with.
func converse(t *testing.T, session *mcp.Session, name string, answer func(question string) (string, bool)) (tool.Result, []string) {
	t.Helper()
	var mu sync.Mutex
	var questions []string
	ask := func(_ context.Context, question string) (string, error) {
		mu.Lock()
		defer mu.Unlock()
		questions = append(questions, question)
		if text, ok := answer(question); ok {
			return text, nil
		}
		t.Errorf("there is no answer to %q", question)
		return "cancel", nil
	}
	call := tool.Invocation{ID: "call_1", Name: name, Arguments: json.RawMessage(`{}`), IdempotencyKey: "key", Ask: ask}
	for {
		result := tool.Executor{}.Execute(t.Context(), session.Tools(), call)
		if result.Output.Input == nil {
			return result, questions
		}
		text, _ := ask(t.Context(), result.Output.Input.Question) // it does not fail
		call.Input = &tool.RoundInput{State: result.Output.Input.State, Answer: text}
	}
}

// sessions connects to a server of today and to one of an earlier revision, with both transports.
func sessions(t *testing.T, server func() *sdk.Server, use func(*testing.T, *mcp.Session)) {
	t.Helper()
	t.Run("2026-07-28", func(t *testing.T) {
		h := makeHost(t, mcp.StreamableHTTP, server())
		use(t, makeClient(t, mcp.Options{}).connect(t, describe(h, mcp.StreamableHTTP)))
	})
	t.Run("earlier", func(t *testing.T) {
		h := makeHost(t, mcp.StreamableHTTP, server())
		h.setIntercept(legacy)
		use(t, makeClient(t, mcp.Options{}).connect(t, describe(h, mcp.StreamableHTTP)))
	})
	t.Run("SSE", func(t *testing.T) {
		h := makeHost(t, mcp.SSE, server())
		use(t, makeClient(t, mcp.Options{}).connect(t, describe(h, mcp.SSE)))
	})
}

func TestServerAsksForInput(t *testing.T) {
	var d *deploys
	sessions(t, func() *sdk.Server {
		d = &deploys{}
		return lab(addTool(sdk.Tool{Name: "deploy"}, d.handle))
	}, func(t *testing.T, session *mcp.Session) {
		result, questions := respondByQuestion(t, session, "lab__deploy", map[string]string{"color": "BLUE", "Really": "yes"})
		if result.Text != "deployed" {
			t.Errorf("the tool says %q", result.Text)
		}
		if len(d.done) != 1 || d.done[0] != "blue" {
			t.Errorf("deployed %v, want blue once", d.done)
		}
		for _, question := range questions {
			if !strings.Contains(question, "tool server lab") || !strings.Contains(question, "tool deploy") {
				t.Errorf("the question %q does not name the server and the tool", question)
			}
		}
	})
}

func TestDeclinedInput(t *testing.T) {
	var d *deploys
	sessions(t, func() *sdk.Server {
		d = &deploys{}
		return lab(addTool(sdk.Tool{Name: "deploy"}, d.handle))
	}, func(t *testing.T, session *mcp.Session) {
		result, _ := respondByQuestion(t, session, "lab__deploy", map[string]string{"color": "Decline", "Really": "yes"})
		if !strings.Contains(result.Text, "not deployed: decline") || len(d.done) > 0 {
			t.Errorf("the tool says %q and deployed %v", result.Text, d.done)
		}
	})
}

// An unusable answer is requested again, and finally the request is cancelled.
func TestMisfittingAnswers(t *testing.T) {
	asks := func(_ context.Context, request *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		if a, ok := request.Params.InputResponses["a"].(*sdk.ElicitResult); ok {
			return &sdk.CallToolResult{Content: []sdk.Content{text(a.Action)}}, nil
		}
		return &sdk.CallToolResult{InputRequests: sdk.InputRequestMap{"a": &sdk.ElicitParams{Message: "Which color?", RequestedSchema: colorForm}}}, nil
	}
	sessions(t, func() *sdk.Server { return lab(addTool(sdk.Tool{Name: "asks"}, asks)) }, func(t *testing.T, session *mcp.Session) {
		result, questions := respond(t, session, "lab__asks", "green", "blue")
		if result.Text != "accept" || len(questions) != 2 || !strings.Contains(questions[1], "does not fit") {
			t.Errorf("the tool says %q after %q", result.Text, questions)
		}
		result, _ = respond(t, session, "lab__asks", "green", "green", "green")
		if result.Text != "cancel" {
			t.Errorf("the tool says %q after three misfits", result.Text)
		}
	})
}

func TestPageForAPerson(t *testing.T) {
	open := func(address string) sdk.ToolHandler {
		return func(_ context.Context, request *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			if a, ok := request.Params.InputResponses["a"].(*sdk.ElicitResult); ok {
				return &sdk.CallToolResult{Content: []sdk.Content{text(a.Action)}}, nil
			}
			return &sdk.CallToolResult{InputRequests: sdk.InputRequestMap{"a": &sdk.ElicitParams{Mode: "url", Message: "Sign in", URL: address, ElicitationID: "e1"}}}, nil
		}
	}
	sessions(t, func() *sdk.Server {
		return lab(addTool(sdk.Tool{Name: "good"}, open("https://login.example/a?b=c")), addTool(sdk.Tool{Name: "bad"}, open("javascript:alert(1)")))
	}, func(t *testing.T, session *mcp.Session) {
		result, questions := respond(t, session, "lab__good", "done")
		if result.Text != "accept" || !strings.Contains(questions[0], "https://login.example/a?b=c") {
			t.Errorf("the tool says %q after %q", result.Text, questions)
		}
		if result, questions = respond(t, session, "lab__bad"); len(questions) > 0 || result.Failure == tool.NoFailure {
			t.Errorf("a person was shown %q, and the tool says %q", questions, result.Text)
		}
	})
}

// A server may reject a call until a person has opened a page.
func TestCallThatRequiresAPage(t *testing.T) {
	calls := 0
	server := lab(addTool(sdk.Tool{Name: "login"}, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		if calls++; calls == 1 {
			data := json.RawMessage(`{"elicitations":[{"mode":"url","elicitationId":"e1","url":"https://login.example/","message":"Sign in"}]}`)
			return nil, &jsonrpc.Error{Code: -32042, Message: "sign in first", Data: data}
		}
		return &sdk.CallToolResult{Content: []sdk.Content{text("welcome")}}, nil
	}))
	_, session := connect(t, server)
	result, questions := respond(t, session, "lab__login", "done")
	if result.Text != "welcome" || len(questions) != 1 || !strings.Contains(questions[0], "https://login.example/") {
		t.Errorf("the tool says %q after %q", result.Text, questions)
	}
	calls = 0
	if result, _ = respond(t, session, "lab__login", "decline"); result.Failure == tool.NoFailure || calls != 1 {
		t.Errorf("the tool says %q after %d calls", result.Text, calls)
	}
}

// Sampling is not offered: the model gets an error, and no person gets a question.
func TestUnsupportedInput(t *testing.T) {
	h := makeHost(t, mcp.StreamableHTTP, lab(addTool(sdk.Tool{Name: "samples"}, answer(text("no")))))
	h.setIntercept(func(w http.ResponseWriter, r *http.Request, method string, next http.Handler) {
		if method != "tools/call" {
			next.ServeHTTP(w, r)
			return
		}
		var call struct {
			ID json.RawMessage `json:"id"`
		}
		if err := json.NewDecoder(r.Body).Decode(&call); err != nil {
			t.Error(err)
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"resultType":"input_required","inputRequests":{"a":{"method":"sampling/createMessage","params":{"messages":[],"maxTokens":1}}}}}`, call.ID)
	})
	session := makeClient(t, mcp.Options{}).connect(t, describe(h, mcp.StreamableHTTP))
	result, questions := respond(t, session, "lab__samples")
	if len(questions) > 0 || result.Failure == tool.NoFailure || !strings.Contains(result.Text, "unsupported kind") {
		t.Errorf("asked %q, and the tool says %q", questions, result.Text)
	}
}
