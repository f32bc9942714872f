// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	historyv1 "github.com/nestor-dev/nestor/api/history/v1beta1"
	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/gateway/run"
	"github.com/nestor-dev/nestor/internal/role"
)

// agents are runs that follow a plan: each asks its asks one after the other, and ends with their answers.
type agents struct {
	mu   sync.Mutex
	asks []run.Ask
	runs map[string]*agentRun
	keys map[string]bool
	// blocked is the reason why the runs cannot start, if any.
	blocked string
	// submissions counts the messages that were created.
	submissions int
}

type agentRun struct {
	request   run.Request
	name      string
	done      int
	answers   []string
	cancelled bool
	changed   chan struct{}
}

func (a *agents) change(r *agentRun, f func()) {
	f()
	close(r.changed)
	r.changed = make(chan struct{})
}

func (a *agents) Start(_ context.Context, r run.Request) (*v1beta1.AgentTask, bool, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if r.Role == "forbidden" {
		return nil, false, errors.New("agenttasks is forbidden")
	}
	name := fmt.Sprintf("%s-%d", r.Role, len(a.runs))
	if r.Key != "" {
		name = r.Role + "-" + r.Key
	}
	started, ok := a.runs[name]
	if ok && started.request.Instruction != r.Instruction {
		return nil, false, run.ErrKeyReused
	}
	if !ok {
		started = &agentRun{request: r, name: name, changed: make(chan struct{})}
		a.runs[name] = started
	}
	return a.task(started), !ok, nil
}

func (a *agents) task(r *agentRun) *v1beta1.AgentTask {
	task := &v1beta1.AgentTask{ObjectMeta: metav1.ObjectMeta{Namespace: r.request.Namespace, Name: r.name}, Spec: v1beta1.AgentTaskSpec{Role: r.request.Role}}
	switch {
	case r.cancelled:
		task.Status.Phase = v1beta1.TaskCancelled
	case a.blocked != "":
		task.Status.Phase = v1beta1.TaskPending
		task.Status.Conditions = []metav1.Condition{{Type: v1beta1.ConditionSucceeded, Status: metav1.ConditionUnknown, Reason: a.blocked, Message: "Create what is missing."}}
	case r.done < len(a.asks):
		task.Status.Phase = v1beta1.TaskWaiting
	default:
		task.Status.Phase = v1beta1.TaskSuccess
		task.Status.Result = &v1beta1.TaskResult{Summary: strings.Join(r.answers, ", ")}
	}
	return task
}

func (a *agents) Task(_ context.Context, _, name string) (*v1beta1.AgentTask, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if r, ok := a.runs[name]; ok {
		return a.task(r), nil
	}
	return nil, fmt.Errorf("agenttasks %q not found", name)
}

func (a *agents) open(r *agentRun) *run.Ask {
	if r.cancelled || a.blocked != "" || r.done >= len(a.asks) {
		return nil
	}
	ask := a.asks[r.done]
	ask.Namespace, ask.Task, ask.Call = r.request.Namespace, r.name, fmt.Sprintf("call-%d", r.done)
	return &ask
}

func (a *agents) OpenAsk(_ context.Context, task *v1beta1.AgentTask) (*run.Ask, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.open(a.runs[task.Name]), nil
}

func (a *agents) FollowTask(ctx context.Context, _, name string, _ run.Cursor) iter.Seq2[run.Event, error] {
	return func(yield func(run.Event, error) bool) {
		if !yield(run.Event{Kind: run.Entry, Entry: &historyv1.Entry{Kind: historyv1.EntryStarted}}, nil) {
			return
		}
		last := ""
		for {
			a.mu.Lock()
			r := a.runs[name]
			task, ask, changed, blocked := a.task(r), a.open(r), r.changed, a.blocked
			a.mu.Unlock()
			switch {
			case ask != nil && ask.ID() != last:
				last = ask.ID()
				if !yield(run.Event{Kind: run.Waiting, Task: task, Ask: ask}, nil) {
					return
				}
				continue
			case run.BlockedBy(task) != "":
				if last != blocked {
					last = blocked
					if !yield(run.Event{Kind: run.Blocked, Task: task, Text: run.BlockedBy(task)}, nil) {
						return
					}
				}
			case ask == nil:
				yield(run.Event{Kind: run.End, Task: task, Answer: run.Answer(task)}, nil)
				return
			}
			select {
			case <-changed:
			case <-ctx.Done():
				yield(run.Event{}, ctx.Err())
				return
			}
		}
	}
}

// submit resolves the open ask, unless the key was used before.
func (a *agents) submit(ask run.Ask, text, key string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.keys[key] {
		return nil
	}
	a.keys[key] = true
	a.submissions++
	r := a.runs[ask.Task]
	if open := a.open(r); open == nil || open.ID() != ask.ID() {
		return errors.New("it does not wait for this")
	}
	a.change(r, func() { r.done++; r.answers = append(r.answers, text) })
	return nil
}

func (a *agents) Answer(_ context.Context, ask run.Ask, text, key string) error {
	return a.submit(ask, text, key)
}

func (a *agents) Decide(_ context.Context, ask run.Ask, d run.Decision, key string) (string, error) {
	if d.Shown != ask.Ref() {
		return "", errors.New("this was not shown")
	}
	return "", a.submit(ask, fmt.Sprintf("%v %s", d.Approve, d.Comment), key)
}

func (a *agents) HasAnswered(_ context.Context, _, _, key string) (string, bool, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return "", a.keys[key], nil
}

func (a *agents) Cancel(_ context.Context, _, task, _ string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	r, ok := a.runs[task]
	if !ok {
		return fmt.Errorf("agenttasks %q not found", task)
	}
	a.change(r, func() { r.cancelled = true })
	return nil
}

func (a *agents) Discard(_ context.Context, task *v1beta1.AgentTask) (string, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.runs, task.Name)
	return "; did you mean general?", nil
}

func question(text string) run.Ask {
	ask := run.Ask{}
	ask.Kind, ask.Question = v1beta1.WaitingQuestion, text
	return ask
}

func approval(tool string) run.Ask {
	ask := run.Ask{}
	ask.Kind, ask.Tool, ask.Arguments = v1beta1.WaitingApproval, tool, `{"path":"x"}`
	ask.Digest, ask.Reasons = agent.CallDigest(ask.Tool, ask.Arguments), []string{"Required by policy team/writes, rule people"}
	return ask
}

var testRoles = []role.Role{
	{Name: "general"},
	{Name: "planner", AgentRoleSpec: v1beta1.AgentRoleSpec{Description: "Plans.", AsTool: &v1beta1.RoleAsTool{
		Name: "Planner", InputSchema: &runtime.RawExtension{Raw: []byte(`{"required":["goal"],"properties":{"goal":{"type":"string"}}}`)},
	}}},
	{Name: "searcher", AgentRoleSpec: v1beta1.AgentRoleSpec{AsTool: &v1beta1.RoleAsTool{Name: "Search"}}},
	{Name: "shadow", AgentRoleSpec: v1beta1.AgentRoleSpec{AsTool: &v1beta1.RoleAsTool{Name: toolCancel}}},
	{Name: "twin", AgentRoleSpec: v1beta1.AgentRoleSpec{AsTool: &v1beta1.RoleAsTool{Name: "Search"}}},
}

// serve serves the door at /mcp and /mcp/NAMESPACE. The bearer token is the name of the user.
func serve(t *testing.T, a *agents) string {
	t.Helper()
	a.runs, a.keys = map[string]*agentRun{}, map[string]bool{}
	h := newHandler(slog.New(slog.DiscardHandler))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		path := strings.Trim(strings.TrimPrefix(r.URL.Path, "/mcp"), "/")
		roles := func(_ context.Context, namespace string) ([]role.Role, error) {
			if namespace != "team-a" {
				return nil, errors.New("agentroles is forbidden")
			}
			return testRoles, nil
		}
		v := &visit{place: placeOf(path, user), user: user, runs: a, roles: roles, pageURL: "https://page.example", ended: r.Context().Done()}
		if err := h.serve(w, r, v); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL + "/mcp"
}

// bearer adds headers to requests.
type bearer struct{ headers map[string]string }

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	for name, value := range b.headers {
		r.Header.Set(name, value)
	}
	return http.DefaultTransport.RoundTrip(r)
}

type connection struct {
	url, user, revision string
	headers             map[string]string
	options             sdk.ClientOptions
}

func (c connection) connect(t *testing.T) *sdk.ClientSession {
	t.Helper()
	headers := map[string]string{"Authorization": "Bearer " + c.user}
	maps.Copy(headers, c.headers)
	transport := &sdk.StreamableClientTransport{Endpoint: c.url, HTTPClient: &http.Client{Transport: bearer{headers}}, DisableStandaloneSSE: true}
	session, err := sdk.NewClient(&sdk.Implementation{Name: "test"}, &c.options).Connect(t.Context(), transport, &sdk.ClientSessionOptions{ProtocolVersion: c.revision})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })
	return session
}

func callTool(t *testing.T, session *sdk.ClientSession, name string, arguments map[string]any) (*sdk.CallToolResult, state) {
	t.Helper()
	result, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: name, Arguments: arguments})
	if err != nil {
		t.Fatal(err)
	}
	return result, stateIn(t, result)
}

func stateIn(t *testing.T, result *sdk.CallToolResult) (s state) {
	t.Helper()
	data, err := json.Marshal(result.StructuredContent)
	if err != nil {
		t.Fatal(err)
	}
	if string(data) != "null" {
		if err := json.Unmarshal(data, &s); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func textOf(result *sdk.CallToolResult) string {
	var words []string
	for _, c := range result.Content {
		if text, ok := c.(*sdk.TextContent); ok {
			words = append(words, text.Text)
		}
	}
	return strings.Join(words, "\n")
}

// person answers forms, and appends their messages to forms: questions with an answer, approvals with a decision.
func person(forms *[]string, action string) func(context.Context, *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
	return func(_ context.Context, req *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
		*forms = append(*forms, req.Params.Message)
		if action != actionAccept {
			return &sdk.ElicitResult{Action: action}, nil
		}
		form, err := json.Marshal(req.Params.RequestedSchema)
		if err != nil {
			return nil, err
		}
		if strings.Contains(string(form), "decision") {
			return &sdk.ElicitResult{Action: action, Content: map[string]any{"decision": "approve", "comment": "fine"}}, nil
		}
		return &sdk.ElicitResult{Action: action, Content: map[string]any{"answer": "Green"}}, nil
	}
}

var revisions = []string{"2026-07-28", "2025-11-25", "2025-06-18"}
