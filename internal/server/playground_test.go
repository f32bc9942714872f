// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/rest"
	clienttesting "k8s.io/client-go/testing"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/role"
)

func postDraft(t *testing.T, u *upstream, path, body string) (int, string) {
	t.Helper()
	got := ask(t, u.tokenSite(), http.MethodPost, "/api/namespaces/default/roles/"+path, func(r *http.Request) { r.Body = io.NopCloser(strings.NewReader(body)) })
	return got.Code, got.Body.String()
}

func TestPromptOfADraft(t *testing.T) {
	t.Parallel()
	u := newUpstream(t)
	builtIn, _ := role.BuiltIn("planner")
	for name, c := range map[string]struct {
		path, body string
		want       []string
		not        string
	}{
		"a built-in role":        {"planner/prompt", `{"spec":{}}`, []string{builtIn.SystemPrompt[:200], "## Sub-Agent Context", "**CODER** (role `coder`", "Max iterations: 15"}, ""},
		"a change of it":         {"planner/prompt", `{"spec":{"systemPrompt":"You plan.","limits":{"maxIterations":3}}}`, []string{"You plan.", "Max iterations: 3"}, builtIn.SystemPrompt[:200]},
		"a new role":             {"poet/prompt", `{"spec":{"systemPrompt":"You rhyme."}}`, []string{"You rhyme.", "You cannot delegate"}, ""},
		"the one of chats":       {"orchestrator/prompt", `{"spec":{}}`, []string{"## Delegation Guidelines"}, "## Sub-Agent Context"},
		"the prompt of a remote": {"planner/prompt", `{"spec":{"remote":{"url":"https://a.example.com"}}}`, nil, "Plan"},
	} {
		code, body := postDraft(t, u, c.path, c.body)
		var answer struct{ SystemPrompt string }
		if err := json.Unmarshal([]byte(body), &answer); err != nil || code != http.StatusOK {
			t.Fatalf("%s: %d %s", name, code, body)
		}
		for _, want := range c.want {
			if !strings.Contains(answer.SystemPrompt, want) {
				t.Errorf("%s lacks %q:\n%s", name, want, answer.SystemPrompt)
			}
		}
		if c.not != "" && strings.Contains(answer.SystemPrompt, c.not) {
			t.Errorf("%s contains %q", name, c.not)
		}
	}
	for _, path := range []string{"..%2fx/prompt", "Poet/prompt"} {
		if code, body := postDraft(t, u, path, `{}`); code != http.StatusBadRequest {
			t.Errorf("%s: %d %s", path, code, body)
		}
	}
}

func TestDraftIsTriedAsThePerson(t *testing.T) {
	t.Parallel()
	u := newUpstream(t)
	if code, body := postDraft(t, u, "poet/try", `{"spec":{},"instruction":" "}`); code != http.StatusBadRequest {
		t.Errorf("without an instruction: %d %s", code, body)
	}
	u.denied = "/agentroles"
	if code, body := postDraft(t, u, "poet/try", `{"spec":{"systemPrompt":"You rhyme."},"instruction":"Write"}`); code != http.StatusForbidden {
		t.Errorf("got %d %s", code, body)
	}
	for _, request := range u.requests() {
		if strings.Contains(request, "/agenttasks") {
			t.Errorf("a task was created for a role that is rejected: %s", request)
		}
	}
	if got := u.last(t); got.URL.Query().Get("dryRun") != "All" || got.Header.Get("Authorization") != "Bearer "+knownToken {
		t.Errorf("sent %s %v", got.URL, got.Header)
	}
}

func TestTaskOwnsTheDraft(t *testing.T) {
	t.Parallel()
	client := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{nestorResource(roles): "AgentRoleList"})
	client.PrependReactor("create", tasks, func(action clienttesting.Action) (bool, runtime.Object, error) {
		task := action.(clienttesting.CreateAction).GetObject().(*unstructured.Unstructured).DeepCopy()
		task.SetUID("task-uid")
		return true, task, nil
	})
	client.PrependReactor("create", roles, func(action clienttesting.Action) (bool, runtime.Object, error) {
		dryRun := len(action.(clienttesting.CreateActionImpl).GetCreateOptions().DryRun) > 0
		return dryRun, &unstructured.Unstructured{}, nil
	})
	meta := metav1.ObjectMeta{Name: "try-poet", Namespace: "default"}
	kind := func(name string) metav1.TypeMeta {
		return metav1.TypeMeta{APIVersion: v1beta1.GroupVersion.String(), Kind: name}
	}
	if _, err := createTried(t.Context(), client, &v1beta1.AgentRole{TypeMeta: kind("AgentRole"), ObjectMeta: meta}, &v1beta1.AgentTask{TypeMeta: kind("AgentTask"), ObjectMeta: meta}); err != nil {
		t.Fatal(err)
	}
	tried, err := client.Resource(nestorResource(roles)).Namespace("default").Get(context.Background(), "try-poet", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if owners := tried.GetOwnerReferences(); len(owners) != 1 || owners[0].UID != "task-uid" || owners[0].Kind != "AgentTask" || owners[0].Name != "try-poet" {
		t.Errorf("owners %+v", owners)
	}
}

// A person who leaves the page after the task was created leaves no task that waits for its role.
func TestDraftIsCompletedWithoutThePerson(t *testing.T) {
	t.Parallel()
	ctx, leave := context.WithCancel(t.Context())
	var requests []string
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests = append(requests, r.URL.Path+"?"+r.URL.RawQuery)
		if strings.HasSuffix(r.URL.Path, "/"+tasks) {
			leave()
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.Copy(w, r.Body) // the client may have left
	}))
	t.Cleanup(api.Close)
	client, err := dynamic.NewForConfig(&rest.Config{Host: api.URL})
	if err != nil {
		t.Fatal(err)
	}
	kind := func(name string) metav1.TypeMeta {
		return metav1.TypeMeta{APIVersion: v1beta1.GroupVersion.String(), Kind: name}
	}
	meta := metav1.ObjectMeta{Name: "try-poet", Namespace: "default"}
	if _, err := createTried(ctx, client, &v1beta1.AgentRole{TypeMeta: kind("AgentRole"), ObjectMeta: meta}, &v1beta1.AgentTask{TypeMeta: kind("AgentTask"), ObjectMeta: meta}); err != nil {
		t.Error(err)
	}
	if len(requests) != 3 || !strings.HasSuffix(requests[2], "/agentroles?") {
		t.Errorf("the requests are %q", requests)
	}
}
