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
	"slices"
	"strings"
	"sync"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	historyv1 "github.com/nestor-dev/nestor/api/history/v1alpha1"
	"github.com/nestor-dev/nestor/api/v1alpha1"
	"github.com/nestor-dev/nestor/internal/gateway/run"
	"github.com/nestor-dev/nestor/internal/role"
)

// agents are runs that follow a plan: each asks its asks one after the other, and ends with their answers.
type agents struct {
	mu   sync.Mutex
	asks []run.Ask
	runs map[string]*agentRun
	keys map[string]bool
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

func (a *agents) Start(_ context.Context, r run.Request) (*v1alpha1.AgentTask, bool, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if r.Role == "forbidden" {
		return nil, false, errors.New("agenttasks is forbidden")
	}
	name := fmt.Sprintf("%s-%d", r.Role, len(a.runs))
	if r.Key != "" {
		name = r.Role + "-" + r.Key
	}
	found, ok := a.runs[name]
	if ok && found.request.Instruction != r.Instruction {
		return nil, false, run.ErrKeyReused
	}
	if !ok {
		found = &agentRun{request: r, name: name, changed: make(chan struct{})}
		a.runs[name] = found
	}
	return a.task(found), !ok, nil
}

func (a *agents) task(r *agentRun) *v1alpha1.AgentTask {
	task := &v1alpha1.AgentTask{ObjectMeta: metav1.ObjectMeta{Namespace: r.request.Namespace, Name: r.name}, Spec: v1alpha1.AgentTaskSpec{Role: r.request.Role}}
	switch {
	case r.cancelled:
		task.Status.Phase = v1alpha1.TaskCancelled
	case r.done < len(a.asks):
		task.Status.Phase = v1alpha1.TaskWaiting
	default:
		task.Status.Phase = v1alpha1.TaskSuccess
		task.Status.Result = &v1alpha1.TaskResult{Summary: strings.Join(r.answers, ", ")}
	}
	return task
}

func (a *agents) Task(_ context.Context, _, name string) (*v1alpha1.AgentTask, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if r, ok := a.runs[name]; ok {
		return a.task(r), nil
	}
	return nil, fmt.Errorf("agenttasks %q not found", name)
}

func (a *agents) open(r *agentRun) *run.Ask {
	if r.cancelled || r.done >= len(a.asks) {
		return nil
	}
	ask := a.asks[r.done]
	ask.Namespace, ask.Task, ask.Call = r.request.Namespace, r.name, fmt.Sprintf("call-%d", r.done)
	return &ask
}

func (a *agents) OpenAsk(_ context.Context, task *v1alpha1.AgentTask) (*run.Ask, error) {
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
			task, ask, changed := a.task(r), a.open(r), r.changed
			a.mu.Unlock()
			switch {
			case ask != nil && ask.ID() != last:
				last = ask.ID()
				if !yield(run.Event{Kind: run.Waiting, Task: task, Ask: ask}, nil) {
					return
				}
				continue
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

func (a *agents) Decide(_ context.Context, ask run.Ask, approve bool, comment, key string) error {
	return a.submit(ask, fmt.Sprintf("%v %s", approve, comment), key)
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

func question(text string) run.Ask {
	ask := run.Ask{}
	ask.Kind, ask.Question = v1alpha1.WaitingQuestion, text
	return ask
}

func approval(tool string) run.Ask {
	ask := run.Ask{}
	ask.Kind, ask.Tool, ask.Arguments = v1alpha1.WaitingApproval, tool, `{"path":"x"}`
	return ask
}

var testRoles = []role.Role{
	{Name: "general"},
	{Name: "planner", AgentRoleSpec: v1alpha1.AgentRoleSpec{Description: "Plans.", AsTool: &v1alpha1.RoleAsTool{
		Name: "Planner", InputSchema: &runtime.RawExtension{Raw: []byte(`{"required":["goal"],"properties":{"goal":{"type":"string"}}}`)},
	}}},
	{Name: "searcher", AgentRoleSpec: v1alpha1.AgentRoleSpec{AsTool: &v1alpha1.RoleAsTool{Name: "Search"}}},
	{Name: "shadow", AgentRoleSpec: v1alpha1.AgentRoleSpec{AsTool: &v1alpha1.RoleAsTool{Name: toolCancel}}},
	{Name: "twin", AgentRoleSpec: v1alpha1.AgentRoleSpec{AsTool: &v1alpha1.RoleAsTool{Name: "Search"}}},
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
		h.serve(w, r, &visit{place: placeOf(path, user), user: user, runs: a, roles: roles, ended: r.Context().Done()})
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

// person answers forms: questions with an answer, approvals with a decision.
func person(seen *[]string, action string) func(context.Context, *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
	return func(_ context.Context, req *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
		*seen = append(*seen, req.Params.Message)
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

func TestToolsAreThoseOfTheCaller(t *testing.T) {
	url := serve(t, &agents{})
	ofRuns := []string{toolRun, toolStart, toolGet, toolAnswer, toolDecide, toolCancel}
	for name, test := range map[string]struct {
		url, user         string
		want              []string
		namespaceRequired bool
	}{
		"a namespace":             {url + "/team-a", "jane", append(slices.Clone(ofRuns), "Planner", "Search"), false},
		"roles that are not read": {url + "/team-b", "jane", ofRuns, false},
		"no namespace":            {url, "jane", ofRuns, true},
		"a service account":       {url, "system:serviceaccount:team-a:bot", append(slices.Clone(ofRuns), "Planner", "Search"), false},
	} {
		for _, revision := range revisions {
			t.Run(name+" "+revision, func(t *testing.T) {
				session := connection{url: test.url, user: test.user, revision: revision}.connect(t)
				if got := session.InitializeResult().ProtocolVersion; got != revision {
					t.Fatalf("revision %s", got)
				}
				list, err := session.ListTools(t.Context(), nil)
				if err != nil {
					t.Fatal(err)
				}
				var names []string
				for _, tool := range list.Tools {
					names = append(names, tool.Name)
					if tool.InputSchema.(map[string]any)["type"] != "object" {
						t.Errorf("%s takes %v", tool.Name, tool.InputSchema)
					}
				}
				if !slices.Equal(names, test.want) {
					t.Errorf("tools %q", names)
				}
				required, _ := list.Tools[0].InputSchema.(map[string]any)["required"].([]any)
				if slices.Contains(required, any("namespace")) != test.namespaceRequired {
					t.Errorf("required: %v", required)
				}
			})
		}
	}
}

func TestPersonAnswersDuringTheCall(t *testing.T) {
	for _, revision := range revisions {
		t.Run(revision, func(t *testing.T) {
			a := &agents{asks: []run.Ask{question("Which colour?"), approval("write")}}
			var seen []string
			var mu sync.Mutex
			var notes []string
			session := connection{url: serve(t, a) + "/team-a", user: "jane", revision: revision, options: sdk.ClientOptions{
				ElicitationHandler: person(&seen, actionAccept),
				ProgressNotificationHandler: func(_ context.Context, n *sdk.ProgressNotificationClientRequest) {
					mu.Lock()
					defer mu.Unlock()
					notes = append(notes, n.Params.Message)
				},
			}}.connect(t)
			params := &sdk.CallToolParams{Name: toolRun, Arguments: map[string]any{"role": "general", "instruction": "Paint it"}}
			params.SetProgressToken("p1")
			result, err := session.CallTool(t.Context(), params)
			if err != nil {
				t.Fatal(err)
			}
			if s := stateIn(t, result); result.IsError || s.Phase != v1alpha1.TaskSuccess || textOf(result) != "Green, true fine" {
				t.Errorf("%+v %q", s, textOf(result))
			}
			if len(seen) != 2 || !strings.Contains(seen[0], "Which colour?") || !strings.Contains(seen[1], "write") {
				t.Errorf("the person saw %q", seen)
			}
			mu.Lock()
			defer mu.Unlock()
			if !slices.ContainsFunc(notes, func(n string) bool { return strings.HasSuffix(n, "started") }) {
				t.Errorf("progress: %q", notes)
			}
			if len(a.runs) != 1 || a.submissions != 2 {
				t.Errorf("%d runs, %d messages", len(a.runs), a.submissions)
			}
		})
	}
}

func TestClosedFormDecidesNothing(t *testing.T) {
	for _, revision := range revisions {
		for _, action := range []string{"decline", "cancel"} {
			t.Run(revision+" "+action, func(t *testing.T) {
				a := &agents{asks: []run.Ask{approval("write")}}
				var seen []string
				session := connection{url: serve(t, a) + "/team-a", user: "jane", revision: revision, options: sdk.ClientOptions{ElicitationHandler: person(&seen, action)}}.connect(t)
				result, s := callTool(t, session, toolRun, map[string]any{"role": "general", "instruction": "Paint it"})
				if s.Phase != v1alpha1.TaskWaiting || s.Waiting == nil || !strings.Contains(textOf(result), toolDecide) || a.submissions != 0 {
					t.Errorf("%+v %q, %d messages", s, textOf(result), a.submissions)
				}
			})
		}
	}
}

func TestClientsWithoutForms(t *testing.T) {
	for _, revision := range revisions {
		t.Run(revision, func(t *testing.T) {
			a := &agents{asks: []run.Ask{question("Which colour?"), approval("write")}}
			session := connection{url: serve(t, a) + "/team-a", user: "jane", revision: revision}.connect(t)
			result, s := callTool(t, session, "Search", map[string]any{"task": "Find it"})
			if s.Waiting == nil || !strings.Contains(textOf(result), "Which colour?") || !strings.Contains(s.Next, toolAnswer) {
				t.Fatalf("%+v %q", s, textOf(result))
			}
			wrong, _ := callTool(t, session, toolDecide, map[string]any{"task": s.Task, "ask": s.Waiting.Ask, "decision": "approve"})
			if !wrong.IsError || !strings.Contains(textOf(wrong), "an answer") {
				t.Errorf("%q", textOf(wrong))
			}
			_, s = callTool(t, session, toolAnswer, map[string]any{"task": s.Task, "ask": s.Waiting.Ask, "answer": "Green"})
			if s.Waiting == nil || s.Waiting.Kind != v1alpha1.WaitingApproval || !strings.Contains(s.Next, toolDecide) {
				t.Fatalf("%+v", s)
			}
			stale, _ := callTool(t, session, toolAnswer, map[string]any{"task": s.Task, "ask": "call-0@" + s.Task, "answer": "Red"})
			if !stale.IsError || !strings.Contains(textOf(stale), "does not wait") {
				t.Errorf("%q", textOf(stale))
			}
			result, s = callTool(t, session, toolDecide, map[string]any{"task": s.Task, "ask": s.Waiting.Ask, "decision": "deny", "comment": "not today"})
			if s.Phase != v1alpha1.TaskSuccess || textOf(result) != "Green, false not today" {
				t.Errorf("%+v %q", s, textOf(result))
			}
		})
	}
}

func TestStartGetCancel(t *testing.T) {
	a := &agents{asks: []run.Ask{question("Which colour?")}}
	session := connection{url: serve(t, a), user: "jane"}.connect(t)
	_, s := callTool(t, session, toolStart, map[string]any{"namespace": "team-a", "role": "general", "instruction": "Paint it"})
	if s.Namespace != "team-a" || !strings.Contains(s.Next, toolGet) {
		t.Fatalf("%+v", s)
	}
	_, got := callTool(t, session, toolGet, map[string]any{"namespace": "team-a", "task": s.Task, "waitSeconds": 60})
	if got.Waiting == nil || got.Waiting.Text == "" {
		t.Errorf("%+v", got)
	}
	result, got := callTool(t, session, toolCancel, map[string]any{"namespace": "team-a", "task": s.Task})
	if got.Phase != v1alpha1.TaskCancelled || !result.IsError {
		t.Errorf("%+v", got)
	}
}

func TestRefusals(t *testing.T) {
	session := connection{url: serve(t, &agents{}) + "/team-a", user: "jane"}.connect(t)
	for name, test := range map[string]struct {
		tool      string
		arguments map[string]any
		want      string
	}{
		"a missing argument":          {toolRun, map[string]any{"instruction": "x"}, "role"},
		"an unknown argument":         {toolRun, map[string]any{"role": "general", "instruction": "x", "colour": "red"}, "colour"},
		"another namespace":           {toolRun, map[string]any{"role": "general", "instruction": "x", "namespace": "team-b"}, "namespace"},
		"a role that is forbidden":    {toolRun, map[string]any{"role": "forbidden", "instruction": "x"}, "forbidden"},
		"a task that does not exist":  {toolGet, map[string]any{"task": "nobody"}, "not found"},
		"a role's missing argument":   {"Planner", map[string]any{}, "goal"},
		"a role's argument, too long": {toolGet, map[string]any{"task": "x", "waitSeconds": 100000}, "waitSeconds"},
	} {
		t.Run(name, func(t *testing.T) {
			result, _ := callTool(t, session, test.tool, test.arguments)
			if !result.IsError || !strings.Contains(textOf(result), test.want) {
				t.Errorf("%q", textOf(result))
			}
		})
	}
	for _, name := range []string{"teleport", dispatcher} {
		if _, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: name}); err == nil || !strings.Contains(err.Error(), "unknown tool") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestRepeatedRequestStartsNothingTwice(t *testing.T) {
	a := &agents{}
	url := serve(t, a) + "/team-a"
	arguments := map[string]any{"role": "general", "instruction": "Paint it"}
	byHeader := connection{url: url, user: "jane", headers: map[string]string{headerKey: "k1"}}.connect(t)
	for range 2 {
		callTool(t, byHeader, toolRun, arguments)
	}
	byMeta := connection{url: url, user: "jane"}.connect(t)
	for range 2 {
		if _, err := byMeta.CallTool(t.Context(), &sdk.CallToolParams{Meta: sdk.Meta{metaKey: "k2"}, Name: toolRun, Arguments: arguments}); err != nil {
			t.Fatal(err)
		}
	}
	if len(a.runs) != 2 {
		t.Errorf("%d runs", len(a.runs))
	}
	result, err := byMeta.CallTool(t.Context(), &sdk.CallToolParams{Meta: sdk.Meta{metaKey: "k2"}, Name: toolRun, Arguments: map[string]any{"role": "general", "instruction": "Burn it"}})
	if err != nil || !result.IsError {
		t.Errorf("the key was reused: %v %v", result, err)
	}
}

// TestRepeatedAnswerIsOne repeats the request that carries an answer, as a client does that lost the response.
func TestRepeatedAnswerIsOne(t *testing.T) {
	a := &agents{asks: []run.Ask{question("Which colour?"), question("Which size?")}}
	options := sdk.ClientOptions{Capabilities: &sdk.ClientCapabilities{Elicitation: &sdk.ElicitationCapabilities{}}}
	options.MultiRoundTrip = &sdk.MultiRoundTripOptions{Disabled: true}
	session := connection{url: serve(t, a) + "/team-a", user: "jane", options: options}.connect(t)
	params := &sdk.CallToolParams{Name: toolRun, Arguments: map[string]any{"role": "general", "instruction": "Paint it"}}
	first, err := session.CallTool(t.Context(), params)
	if err != nil || !first.NeedsInput() {
		t.Fatalf("%+v %v", first, err)
	}
	params.RequestState, params.InputResponses = first.RequestState, sdk.InputResponseMap{}
	for id := range first.InputRequests {
		params.InputResponses[id] = &sdk.ElicitResult{Action: actionAccept, Content: map[string]any{"answer": "Green"}}
	}
	for range 2 {
		second, err := session.CallTool(t.Context(), params)
		if err != nil || !second.NeedsInput() || len(second.InputRequests) != 1 {
			t.Fatalf("%+v %v", second, err)
		}
		for _, form := range second.InputRequests {
			if message := form.(*sdk.ElicitParams).Message; !strings.Contains(message, "Which size?") {
				t.Errorf("asks %q", message)
			}
		}
	}
	if a.submissions != 1 || len(a.runs) != 1 {
		t.Errorf("%d messages, %d runs", a.submissions, len(a.runs))
	}
	params.RequestState = "1/team-b/general-0"
	if result, err := session.CallTool(t.Context(), params); err != nil || !result.IsError || !strings.Contains(textOf(result), "another namespace") {
		t.Errorf("%+v %v", result, err)
	}
}

// TestSomebodyElseAnswers resolves an ask elsewhere while the client shows its form.
func TestSomebodyElseAnswers(t *testing.T) {
	a := &agents{asks: []run.Ask{question("Which colour?")}}
	shown, over := make(chan struct{}), make(chan struct{})
	session := connection{url: serve(t, a) + "/team-a", user: "jane", revision: "2025-11-25", options: sdk.ClientOptions{
		ElicitationHandler: func(context.Context, *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
			close(shown)
			<-over
			return &sdk.ElicitResult{Action: "cancel"}, nil
		},
	}}.connect(t)
	go func() {
		<-shown
		task, err := a.Task(context.Background(), "team-a", "general-0")
		if err != nil {
			return
		}
		ask, _ := a.OpenAsk(context.Background(), task)
		_ = a.Answer(context.Background(), *ask, "Blue", "elsewhere")
	}()
	result, s := callTool(t, session, toolRun, map[string]any{"role": "general", "instruction": "Paint it"})
	close(over)
	if s.Phase != v1alpha1.TaskSuccess || textOf(result) != "Blue" {
		t.Errorf("%+v %q", s, textOf(result))
	}
}

func TestSessionBelongsToItsUser(t *testing.T) {
	url := serve(t, &agents{asks: []run.Ask{question("Which colour?")}}) + "/team-a"
	var seen []string
	session := connection{url: url, user: "jane", revision: "2025-11-25", options: sdk.ClientOptions{ElicitationHandler: person(&seen, actionAccept)}}.connect(t)
	if session.ID() == "" {
		t.Fatal("there is no session")
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{
		"Authorization": "Bearer mallory", "Content-Type": "application/json", "Accept": "application/json, text/event-stream", headerSession: session.ID(),
	} {
		request.Header.Set(name, value)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusForbidden {
		t.Errorf("status %d", response.StatusCode)
	}
}

// TestCancelledRequestCancelsNothing ends a call of a client while its run works on.
func TestCancelledRequestCancelsNothing(t *testing.T) {
	for _, revision := range revisions {
		t.Run(revision, func(t *testing.T) {
			a := &agents{asks: []run.Ask{question("Which colour?")}}
			ctx, cancel := context.WithCancel(t.Context())
			over := make(chan struct{})
			session := connection{url: serve(t, a) + "/team-a", user: "jane", revision: revision, options: sdk.ClientOptions{
				ElicitationHandler: func(ctx context.Context, _ *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
					cancel()
					select { // before 2026-07-28 the context is that of another request
					case <-over:
					case <-ctx.Done():
					}
					return &sdk.ElicitResult{Action: "cancel"}, nil
				},
			}}.connect(t)
			if _, err := session.CallTool(ctx, &sdk.CallToolParams{Name: toolRun, Arguments: map[string]any{"role": "general", "instruction": "Paint it"}}); err == nil {
				t.Error("the call was not cancelled")
			}
			close(over)
			task, err := a.Task(t.Context(), "team-a", "general-0")
			if err != nil || task.Status.Phase != v1alpha1.TaskWaiting {
				t.Errorf("%+v %v", task, err)
			}
		})
	}
}
