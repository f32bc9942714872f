// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package a2a

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/go-cmp/cmp"

	"github.com/nestor-dev/nestor/internal/model"
	"github.com/nestor-dev/nestor/internal/model/wire"
	"github.com/nestor-dev/nestor/test/a2atest"
)

func newTestClient(t *testing.T, url string, header http.Header) *Client {
	t.Helper()
	client, err := NewClient(wire.Endpoint{BaseURL: url, Timeout: MaxDuration, Header: func(context.Context) (http.Header, error) { return header, nil }})
	if err != nil {
		t.Fatal(err)
	}
	client.poll = time.Millisecond
	return client
}

// request returns the first request of an agent with an instruction.
func request(text string) model.Request {
	return model.Request{Model: "http://agent", Conversation: "5f1c0e2a-7b0d-4c7e-9e0e-0d5f3a6b9a11", Call: "m1", Tools: []model.Tool{{Name: "submit_result"}},
		Messages: []model.Message{{Role: model.RoleSystem, Text: "You are a sub-agent."}, {Role: model.RoleUser, Text: text}}}
}

func next(req model.Request, reply model.Reply, call, answer string) model.Request {
	req.Call = call
	req.Messages = append(req.Messages[:len(req.Messages):len(req.Messages)], reply.Message())
	if len(reply.ToolCalls) > 0 {
		req.Messages = append(req.Messages, model.Message{Role: model.RoleTool, ToolCallID: reply.ToolCalls[0].ID, Text: answer})
		return req
	}
	req.Messages = append(req.Messages, model.Message{Role: model.RoleUser, Text: answer})
	return req
}

func complete(t *testing.T, client *Client, req model.Request) model.Reply {
	t.Helper()
	var streamed strings.Builder
	reply, err := client.Complete(t.Context(), req, func(d model.Delta) { streamed.WriteString(d.Text) })
	for failed := (*model.Error)(nil); errors.As(err, &failed) && failed.Kind == model.Transient; {
		// The remote agent may not have ended the work whose result it has sent. The engine repeats such a call, too.
		streamed.Reset()
		reply, err = client.Complete(t.Context(), req, func(d model.Delta) { streamed.WriteString(d.Text) })
	}
	if err != nil {
		t.Fatal(err)
	}
	if streamed.Len() > 0 && streamed.String() != reply.Text {
		t.Errorf("streamed %q, the reply is %q", streamed.String(), reply.Text)
	}
	return reply
}

func argument(t *testing.T, reply model.Reply, tool, name string) string {
	t.Helper()
	if len(reply.ToolCalls) != 1 || reply.ToolCalls[0].Name != tool || reply.ToolCalls[0].ArgumentsError != "" {
		t.Fatalf("calls are %+v, want one of %s", reply.ToolCalls, tool)
	}
	var arguments map[string]string
	if err := json.Unmarshal([]byte(reply.ToolCalls[0].Arguments), &arguments); err != nil {
		t.Fatal(err)
	}
	return arguments[name]
}

// TestQuestionAndAnswer runs a task with a question over every kind of server.
func TestQuestionAndAnswer(t *testing.T) {
	for name, options := range map[string]a2atest.Options{
		"JSON-RPC": {}, "without streaming": {NoStreaming: true}, "REST": {REST: true}, "REST without streaming": {REST: true, NoStreaming: true}, "without a list of tasks": {NoList: true},
	} {
		t.Run(name, func(t *testing.T) {
			agent := a2atest.Start(t, options)
			client := newTestClient(t, agent.URL, nil)
			req := request("weather please")
			questionReply := complete(t, client, req)
			if question := argument(t, questionReply, "ask_user", "question"); question != "Which city?" {
				t.Errorf("the question is %q", question)
			}
			req = next(req, questionReply, "m2", "Berlin")
			answerReply := complete(t, client, req)
			if answerReply.Text != "It is sunny in Berlin." || answerReply.Outcome() != model.OutcomeAnswer {
				t.Errorf("the answer is %+v", answerReply)
			}
			if !options.NoStreaming {
				if diff := cmp.Diff(&model.Usage{PromptTokens: 120, CompletionTokens: 30, TotalTokens: 150}, answerReply.Usage); diff != "" {
					t.Errorf("usage (-want +got):\n%s", diff)
				}
			}
			// More work is a new task in the same context.
			more := complete(t, client, next(req, answerReply, "m3", "weather again"))
			argument(t, more, "ask_user", "question")
			messages, tasks := agent.Messages(), agent.Tasks()
			if len(messages) != 3 || len(tasks) != 2 {
				t.Fatalf("the agent got %d messages and %d tasks", len(messages), len(tasks))
			}
			if messages[0].ContextID != req.Conversation || messages[1].TaskID != tasks[0] || messages[2].ContextID != req.Conversation || messages[2].TaskID == tasks[0] {
				t.Errorf("the messages are %+v", messages)
			}
			if text := messages[0].Parts[0].Text(); text != "weather please" {
				t.Errorf("the first message is %q", text)
			}
		})
	}
}

// TestRepeatedCallStartsNothing repeats calls whose reply was lost.
func TestRepeatedCallStartsNothing(t *testing.T) {
	for name, options := range map[string]a2atest.Options{"JSON-RPC": {}, "without streaming": {NoStreaming: true}, "REST": {REST: true}} {
		t.Run(name, func(t *testing.T) {
			agent := a2atest.Start(t, options)
			req := request("weather please")
			questionReply := complete(t, newTestClient(t, agent.URL, nil), req)
			if again := complete(t, newTestClient(t, agent.URL, nil), req); again.ID != questionReply.ID || argument(t, again, "ask_user", "question") != "Which city?" {
				t.Errorf("the repeated call: %+v", again)
			}
			req = next(req, questionReply, "m2", "Berlin")
			for range 2 {
				if reply := complete(t, newTestClient(t, agent.URL, nil), req); reply.Text != "It is sunny in Berlin." {
					t.Errorf("the answer is %q", reply.Text)
				}
			}
			if messages, tasks := agent.Messages(), agent.Tasks(); len(messages) != 2 || len(tasks) != 1 {
				t.Errorf("the agent got %d messages and %d tasks", len(messages), len(tasks))
			}
		})
	}
}

// interrupt ends a call in the middle of the work.
func interrupt(t *testing.T, client *Client) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	_, err := client.Complete(ctx, request("work hard"), func(model.Delta) { stop() })
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("a cancelled call: %v", err)
	}
}

// TestInterruptedCallIsResumed ends a call in the middle and repeats it.
func TestInterruptedCallIsResumed(t *testing.T) {
	for name, options := range map[string]a2atest.Options{"JSON-RPC": {}, "without streaming": {NoStreaming: true}} {
		t.Run(name, func(t *testing.T) {
			agent := a2atest.Start(t, options)
			interrupt(t, newTestClient(t, agent.URL, nil))
			time.AfterFunc(20*time.Millisecond, agent.Release)
			reply := complete(t, newTestClient(t, agent.URL, nil), request("work hard"))
			if reply.Text != "Half of it." || len(agent.Tasks()) != 1 || len(agent.Cancelled()) != 0 {
				t.Errorf("the reply is %+v after %d tasks, cancelled %v", reply, len(agent.Tasks()), agent.Cancelled())
			}
		})
	}
}

// TestSilentStreamIsChecked follows a task whose stream sends nothing. An earlier call has already started the task,
// so the short idle time cannot expire before it exists.
func TestSilentStreamIsChecked(t *testing.T) {
	agent, handler := a2atest.New(a2atest.Options{})
	var reads atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		if bytes.Contains(body, []byte(`"GetTask"`)) && reads.Add(1) == 3 { // the first finds the task, the others follow silent streams
			agent.Release()
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	interrupt(t, newTestClient(t, server.URL, nil))
	client := newTestClient(t, server.URL, nil)
	client.idle = 10 * time.Millisecond
	if reply := complete(t, client, request("work hard")); reply.Text != "Half of it." || len(agent.Tasks()) != 1 || reads.Load() < 3 {
		t.Errorf("the reply is %+v after %d reads of the task", reply, reads.Load())
	}
}

func TestCancel(t *testing.T) {
	for name, options := range map[string]a2atest.Options{"JSON-RPC": {}, "REST": {REST: true}} {
		t.Run(name, func(t *testing.T) {
			agent := a2atest.Start(t, options)
			req := request("weather please")
			questionReply := complete(t, newTestClient(t, agent.URL, nil), req)
			if err := newTestClient(t, agent.URL, nil).Cancel(t.Context(), next(req, questionReply, "", "")); err != nil {
				t.Fatal(err)
			}
			cancelled := agent.Cancelled() // twice, if the server of the SDK was still busy with the question
			if diff := cmp.Diff(agent.Tasks(), slices.Compact(slices.Clone(cancelled))); diff != "" {
				t.Errorf("cancelled (-want +got):\n%s", diff)
			}
			for _, again := range []model.Request{next(req, questionReply, "", ""), request("nothing was sent")} {
				if err := newTestClient(t, agent.URL, nil).Cancel(t.Context(), again); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(cancelled, agent.Cancelled()); diff != "" {
				t.Errorf("cancelled again (-before +after):\n%s", diff)
			}
		})
	}
}

// TestDroppedCancel cancels a task of an agent that answers a cancel and keeps the task open.
func TestDroppedCancel(t *testing.T) {
	for dropped, want := range map[int]string{2: "", 1000: "the remote agent did not cancel the task: its state is TASK_STATE_INPUT_REQUIRED"} {
		agent := a2atest.Start(t, a2atest.Options{DropCancels: dropped})
		req := request("weather please")
		questionReply := complete(t, newTestClient(t, agent.URL, nil), req)
		err := newTestClient(t, agent.URL, nil).Cancel(t.Context(), next(req, questionReply, "", ""))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%d cancels are dropped: %v, want %q", dropped, err, want)
		}
		if got := len(agent.Cancelled()); got <= 2 {
			t.Errorf("%d cancels are dropped, and %d were sent", dropped, got)
		}
	}
}

// TestFailedCancelIsRepeated cancels a task of an agent whose server rejects the first cancels, as the SDK's server
// does for a short time after a question.
func TestFailedCancelIsRepeated(t *testing.T) {
	for failures, succeeds := range map[int32]bool{2: true, 1000: false} {
		agent, handler := a2atest.New(a2atest.Options{})
		var cancels atomic.Int32
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			if bytes.Contains(body, []byte(`"CancelTask"`)) && cancels.Add(1) <= failures {
				var sent struct{ ID json.RawMessage }
				_ = json.Unmarshal(body, &sent)
				fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32603,"message":"queue is closed"}}`, sent.ID)
				return
			}
			r.Body = io.NopCloser(bytes.NewReader(body))
			handler.ServeHTTP(w, r)
		}))
		t.Cleanup(server.Close)
		req := request("weather please")
		questionReply := complete(t, newTestClient(t, server.URL, nil), req)
		err := newTestClient(t, server.URL, nil).Cancel(t.Context(), next(req, questionReply, "", ""))
		if (err == nil) != succeeds || (len(agent.Cancelled()) > 0) != succeeds || cancels.Load() > 5 {
			t.Errorf("%d cancels fail: %v; %d were sent, cancelled %v", failures, err, cancels.Load(), agent.Cancelled())
		}
	}
}

// TestCancelWithoutAList cancels a task whose ID is only in the memory of this process.
func TestCancelWithoutAList(t *testing.T) {
	agent := a2atest.Start(t, a2atest.Options{NoList: true})
	client := newTestClient(t, agent.URL, nil)
	interrupt(t, client)
	if err := client.Cancel(t.Context(), request("work hard")); err != nil || len(agent.Cancelled()) != 1 {
		t.Errorf("cancelled %v: %v", agent.Cancelled(), err)
	}
}

// TestPartialAnswer requests the partial answer of an agent that has reached a limit.
func TestPartialAnswer(t *testing.T) {
	for dropped, cancels := range map[int]int{0: 1, 1000: 5} { // it has an answer even if the agent does not cancel
		agent := a2atest.Start(t, a2atest.Options{DropCancels: dropped})
		interrupt(t, newTestClient(t, agent.URL, nil))
		req := request("work hard")
		req.Call, req.Tools = "m2", nil
		reply, err := newTestClient(t, agent.URL, nil).Complete(t.Context(), req, nil)
		if err != nil || reply.Text != "Half of it." || len(agent.Cancelled()) != cancels || len(agent.Messages()) != 1 {
			t.Errorf("%d cancels are dropped: %+v, %v; cancelled %v", dropped, reply, err, agent.Cancelled())
		}
	}
}

func TestTaskOutcomes(t *testing.T) {
	for text, want := range map[string]struct{ tool, argument, value string }{
		"fail now":   {"submit_error", "error", "The remote agent has failed: The station is down."},
		"reject now": {"submit_error", "error", "The remote agent has rejected the task."},
		"silent now": {"submit_result", "result", "The remote agent has completed the task without text."},
		"login now":  {"ask_user", "question", "The remote agent needs an authorization that Nestor cannot give. Give it where the agent expects it, then answer here. Its message: Log in at the station."},
	} {
		agent := a2atest.Start(t, a2atest.Options{})
		if got := argument(t, complete(t, newTestClient(t, agent.URL, nil), request(text)), want.tool, want.argument); got != want.value {
			t.Errorf("%s: %q, want %q", text, got, want.value)
		}
	}
	agent := a2atest.Start(t, a2atest.Options{})
	if reply := complete(t, newTestClient(t, agent.URL, nil), request("hello")); reply.Text != "Hello to you." {
		t.Errorf("an answer without a task: %+v", reply)
	}
	if reply := complete(t, newTestClient(t, agent.URL, nil), request("data please")); reply.Text != "{\"degrees\":21}\n[file map.png: image/png, 3 bytes]\n" {
		t.Errorf("data and a file: %q", reply.Text)
	}
}

func TestFailuresAreClassifiedWithoutSecrets(t *testing.T) {
	agent := a2atest.Start(t, a2atest.Options{Header: [2]string{"Authorization", "Bearer right-secret"}})
	_, err := newTestClient(t, agent.URL, http.Header{"Authorization": {"Bearer wrong-secret"}}).Complete(t.Context(), request("weather"), nil)
	var failure *model.Error
	if !errors.As(err, &failure) || failure.Kind != model.Unauthorized || strings.Contains(err.Error(), "wrong-secret") {
		t.Errorf("a wrong header: %v", err)
	}
	if reply := complete(t, newTestClient(t, agent.URL, http.Header{"Authorization": {"Bearer right-secret"}}), request("weather")); len(reply.ToolCalls) != 1 {
		t.Errorf("the right header: %+v", reply)
	}
	for name, c := range map[string]struct {
		handler http.HandlerFunc
		kind    model.Kind
	}{
		"no card":      {http.NotFound, model.BadRequest},
		"overloaded":   {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }, model.Overloaded},
		"rate limited": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTooManyRequests) }, model.RateLimited},
		"redirects": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://127.0.0.1:1/", http.StatusFound)
		}, model.NotAllowed},
		"old card": {func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(`{"name":"x","url":"http://x","protocolVersion":"0.3.0"}`))
		}, model.BadRequest},
		"null in card": {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"supportedInterfaces":[null]}`)) }, model.BadRequest},
		"not a card":   {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`[`)) }, model.Transient},
	} {
		server := httptest.NewServer(c.handler)
		_, err := newTestClient(t, server.URL, nil).Complete(t.Context(), request("weather"), nil)
		server.Close()
		if !errors.As(err, &failure) || failure.Kind != c.kind {
			t.Errorf("%s: %v, want %s", name, err, c.kind)
		}
	}
}

// TestMalformedTasks answers with tasks that no agent should send.
func TestMalformedTasks(t *testing.T) {
	for name, result := range map[string]string{
		"nulls":         `{"task":{"id":"t","contextId":"c","artifacts":[null,{"artifactId":"a","parts":[null]}],"history":[null],"status":{"state":"TASK_STATE_COMPLETED"}}}`,
		"no id":         `{"task":{"id":"","contextId":"c","status":{"state":"TASK_STATE_COMPLETED"}}}`,
		"null":          `null`,
		"too much":      `{"task":{"id":"t","contextId":"c","artifacts":[{"artifactId":"a","parts":[{"text":"` + strings.Repeat("x", wire.MaxText+1) + `"}]}],"status":{"state":"TASK_STATE_COMPLETED"}}}`,
		"unknown state": `{"task":{"id":"t","contextId":"c","status":{"state":"TASK_STATE_DREAMING"}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == cardPath {
					_, _ = w.Write([]byte(`{"name":"x","capabilities":{},"supportedInterfaces":[{"url":"/rpc","protocolBinding":"JSONRPC","protocolVersion":"1.0"}]}`))
					return
				}
				var call struct {
					ID     any    `json:"id"`
					Method string `json:"method"`
				}
				_ = json.NewDecoder(r.Body).Decode(&call)
				answer := map[string]any{"jsonrpc": "2.0", "id": call.ID, "error": map[string]any{"code": -32601, "message": "no"}}
				if call.Method == "SendMessage" {
					answer = map[string]any{"jsonrpc": "2.0", "id": call.ID, "result": json.RawMessage(result)}
				}
				_ = json.NewEncoder(w).Encode(answer)
			}))
			defer server.Close()
			reply, err := newTestClient(t, server.URL, nil).Complete(t.Context(), request("weather"), nil)
			if name == "nulls" {
				if err != nil || len(reply.ToolCalls) != 1 {
					t.Errorf("%+v, %v", reply, err)
				}
				return
			}
			if err == nil {
				t.Errorf("the reply is %+v", reply)
			}
		})
	}
}

func TestMessageIDs(t *testing.T) {
	first, other := request("a"), request("a")
	other.Call = "m2"
	if messageID(first) != messageID(request("b")) || messageID(first) == messageID(other) {
		t.Error("the id of a message must depend on the call alone")
	}
	if got := readConversation(first).message; got.ContextID != first.Conversation || got.TaskID != "" || got.Role != a2a.MessageRoleUser {
		t.Errorf("the message is %+v", got)
	}
}
