// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/gateway/run"
)

func TestToolsBelongToCaller(t *testing.T) {
	url := serve(t, &agents{})
	ofRuns := []string{toolRun, toolStart, toolGet, toolAnswer, toolCancel}
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
	if got.Phase != v1beta1.TaskCancelled || !result.IsError {
		t.Errorf("%+v", got)
	}
}

// TestRunThatCannotStart: the client receives the reason, and reads the result when the run has started.
func TestRunThatCannotStart(t *testing.T) {
	for _, revision := range revisions {
		t.Run(revision, func(t *testing.T) {
			a := &agents{blocked: v1beta1.ReasonProviderNotFound}
			session := connection{url: serve(t, a) + "/team-a", user: "jane", revision: revision}.connect(t)
			result, s := callTool(t, session, toolRun, map[string]any{"role": "general", "instruction": "Paint it"})
			const why = v1beta1.ReasonProviderNotFound + ": Create what is missing."
			if !result.IsError || s.Phase != v1beta1.TaskPending || s.Blocked != why || !strings.Contains(textOf(result), why) || !strings.Contains(s.Next, toolGet) {
				t.Errorf("%+v %q", s, textOf(result))
			}
			for _, wait := range []int{0, 60} {
				result, s := callTool(t, session, toolGet, map[string]any{"task": s.Task, "waitSeconds": wait})
				if result.IsError || s.Blocked != why {
					t.Errorf("after %d seconds: %+v %q", wait, s, textOf(result))
				}
			}
			a.mu.Lock()
			a.blocked = ""
			a.mu.Unlock()
			if result, s := callTool(t, session, toolGet, map[string]any{"task": s.Task, "waitSeconds": 60}); result.IsError || s.Phase != v1beta1.TaskSuccess || s.Blocked != "" {
				t.Errorf("%+v %q", s, textOf(result))
			}
		})
	}
}

// TestRunOfAMissingRole: a role that does not exist was most likely mistyped, and its run is discarded.
func TestRunOfAMissingRole(t *testing.T) {
	a := &agents{blocked: v1beta1.ReasonRoleNotFound}
	session := connection{url: serve(t, a) + "/team-a", user: "jane"}.connect(t)
	result, _ := callTool(t, session, toolRun, map[string]any{"role": "genral", "instruction": "Paint it"})
	if !result.IsError || !strings.Contains(textOf(result), "; did you mean general?") || len(a.runs) > 0 {
		t.Errorf("%q", textOf(result))
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

func TestSessionBelongsToItsUser(t *testing.T) {
	url := serve(t, &agents{asks: []run.Ask{question("Which colour?")}}) + "/team-a"
	var forms []string
	session := connection{url: url, user: "jane", revision: "2025-11-25", options: sdk.ClientOptions{ElicitationHandler: person(&forms, actionAccept)}}.connect(t)
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
			if err != nil || task.Status.Phase != v1beta1.TaskWaiting {
				t.Errorf("%+v %v", task, err)
			}
		})
	}
}
