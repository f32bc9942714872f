// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic/fake"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

func TestInboxOfClusterReader(t *testing.T) {
	t.Parallel()
	u := newUpstream(t)
	u.chats = []string{"one"}
	l := openEvents(t, u, "namespace=default&runs=default", "")
	if got := l.next("scope"); got != `{"all":true}` {
		t.Errorf("got %s", got)
	}
	for !strings.Contains(l.next("object"), `{"resource":"runs/agentchats","type":"ADDED"`) {
		continue // the chats of the namespace come, too
	}
	if strings.Contains(l.id, "runs") {
		t.Errorf("the inbox has a position: %s", l.id)
	}
	for _, want := range []string{nestorPrefix + "/agentchats?limit", nestorPrefix + "/agenttasks?labelSelector=%21nestor.dev%2Fchat%2C%21nestor.dev%2Fparent"} {
		waitForRequest(t, u, l, want)
	}
}

// waitForRequest reads events until the API server has received a request.
func waitForRequest(t *testing.T, u *upstream, l *listener, path string) {
	t.Helper()
	for !slices.ContainsFunc(u.requests(), func(request string) bool { return strings.HasPrefix(request, "GET "+path) }) {
		l.next("synced")
	}
}

func TestInboxHasReadableNamespaces(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		may    map[string]bool
		spaces []string
		query  string
		want   string
	}{
		"from the list":        {map[string]bool{"default": true, "team": true}, []string{"default", "secret", "team"}, "runs=default", `{"namespaces":["default","team"]}`},
		"visited ones":         {map[string]bool{"default": true, "team": true}, nil, "runs=default&runs=team&runs=secret", `{"namespaces":["default","team"]}`},
		"no wrong names":       {map[string]bool{"default": true}, nil, "runs=default&runs=..%2fsecrets", `{"namespaces":["default"]}`},
		"none":                 {map[string]bool{}, nil, "runs=default", `{}`},
		"the current one last": {map[string]bool{"default": true, "team": true}, []string{}, "runs=team", `{"namespaces":["default","team"]}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := newUpstream(t)
			u.may, u.spaces = c.may, c.spaces
			l := openEvents(t, u, "namespace=default&"+c.query, "")
			if got := l.next("scope"); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
			for _, request := range u.requests() {
				if strings.Contains(request, "namespaces/secret/") || strings.HasPrefix(request, "GET "+nestorPrefix+"/agentchats") {
					t.Errorf("asked %s", request)
				}
			}
		})
	}
}

func TestInboxNamespaceLimit(t *testing.T) {
	t.Parallel()
	u := newUpstream(t)
	u.may = map[string]bool{"default": true}
	for i := range maxRunNamespaces + 4 {
		name := "n" + string(rune('a'+i))
		u.may[name] = true
		u.spaces = append(u.spaces, name)
	}
	l := openEvents(t, u, "namespace=default&runs=default", "")
	if got := l.next("scope"); !strings.HasPrefix(got, `{"namespaces":["default","na",`) || !strings.HasSuffix(got, `"omitted":5}`) {
		t.Errorf("got %s", got)
	}
}

func TestRunsOfInboxAreShort(t *testing.T) {
	t.Parallel()
	task := &unstructured.Unstructured{Object: map[string]any{
		"spec":   map[string]any{"role": "coder", "instruction": strings.Repeat("ä", 400), "arguments": map[string]any{"secret": "x"}},
		"status": map[string]any{"phase": "Success", "result": map[string]any{"summary": "Done.", "data": map[string]any{"a": "b"}, "details": "long"}},
	}}
	shortenRun(task)
	want := map[string]any{
		"spec":   map[string]any{"role": "coder", "instruction": strings.Repeat("ä", maxRunText) + "…"},
		"status": map[string]any{"phase": "Success", "result": map[string]any{"summary": "Done."}},
	}
	if diff := cmp.Diff(want, task.Object); diff != "" {
		t.Error(diff)
	}
}

func treeObject(kind, name, version string, labels map[string]string, subAgent string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: map[string]any{}}
	object.SetAPIVersion("nestor.dev/v1beta1")
	object.SetKind(kind)
	object.SetNamespace("default")
	object.SetName(name)
	object.SetLabels(labels)
	object.SetResourceVersion(version)
	object.SetUID(types.UID("uid-" + kind + "-" + strings.TrimSuffix(name, "-x")))
	if subAgent != "" {
		object.Object["status"] = map[string]any{"subAgent": subAgent}
	}
	return object
}

// sentEvents returns the events in a buffer as "NAME RESOURCE TYPE OBJECT", sorted.
func sentEvents(t *testing.T, out *eventBuffer) []string {
	t.Helper()
	var found []string
	for _, e := range out.take(t.Context()) {
		var text string
		for _, name := range []string{"root", "child", "grandchild", "other", "foreign"} {
			for _, part := range []string{"uid-AgentTask-" + name + `"`, "uid-SubAgent-" + name + `"`} {
				if strings.Contains(string(e.data), part) {
					text = strings.TrimSuffix(part, `"`)
				}
			}
		}
		change := "MODIFIED"
		if strings.Contains(string(e.data), `"type":"DELETED"`) {
			change = "DELETED"
		}
		if e.name != "object" {
			change, text = "", string(e.data)
		}
		found = append(found, strings.TrimSpace(e.name+" "+change+" "+text))
	}
	slices.Sort(found)
	return found
}

func TestRunIsSentWithDescendants(t *testing.T) {
	t.Parallel()
	parent := func(name string) map[string]string { return map[string]string{v1beta1.LabelParent: name} }
	// The sub-agent of the root has another name than its task, because an agent of a chat has that name.
	objects := []runtime.Object{
		treeObject("AgentTask", "root", "1", nil, "root-x"), treeObject("SubAgent", "root-x", "1", nil, ""),
		treeObject("AgentTask", "child", "1", parent("root-x"), ""), treeObject("SubAgent", "child", "1", parent("root-x"), ""),
		treeObject("AgentTask", "grandchild", "1", parent("child"), ""),
		treeObject("AgentTask", "other", "1", nil, ""),
		treeObject("AgentTask", "foreign", "1", map[string]string{v1beta1.LabelParent: "root-x", v1beta1.LabelChat: "chat"}, ""),
	}
	client := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{nestorResource(tasks): "AgentTaskList", nestorResource(subAgents): "SubAgentList"}, objects...)
	out := newEventBuffer(bufferLimit)
	source := newTreeSource(client, "default", "root", "alice", newDisplaySource("", "root", out, tasks, subAgents), defaultRetryPolicy())
	step := func(first bool) []string {
		t.Helper()
		found, err := source.read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := source.send(t.Context(), found, first); err != nil {
			t.Fatal(err)
		}
		if err := out.put(t.Context(), event{name: "zz", data: []byte("{}")}); err != nil {
			t.Fatal(err)
		}
		return sentEvents(t, out)
	}
	want := []string{
		"object MODIFIED uid-AgentTask-child", "object MODIFIED uid-AgentTask-grandchild", "object MODIFIED uid-AgentTask-root", "object MODIFIED uid-SubAgent-child",
		"object MODIFIED uid-SubAgent-root", `synced  {"resource":"agenttasks"}`, `synced  {"resource":"subagents"}`, "zz  {}",
	}
	if diff := cmp.Diff(want, step(true)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"zz  {}"}, step(false)); diff != "" {
		t.Errorf("nothing has changed: %s", diff)
	}
	api := client.Resource(nestorResource(tasks)).Namespace("default")
	if _, err := api.Update(t.Context(), treeObject("AgentTask", "child", "2", parent("root-x"), ""), metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := api.Delete(t.Context(), "grandchild", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"object DELETED uid-AgentTask-grandchild", "object MODIFIED uid-AgentTask-child", "zz  {}"}, step(false)); diff != "" {
		t.Error(diff)
	}
	if err := api.Delete(t.Context(), "root", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if got := step(false); len(got) != 5 {
		t.Errorf("after the task was deleted: %v", got)
	}
}
