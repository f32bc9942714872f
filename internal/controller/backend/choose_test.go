// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package backend

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	mcpsdk "github.com/modelcontextprotocol/go-sdk/mcp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/client/kube"
	"github.com/nestor-dev/nestor/internal/cluster/resolve"
	"github.com/nestor-dev/nestor/internal/controller/toolserver"
	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/role"
	"github.com/nestor-dev/nestor/internal/tool"
	"github.com/nestor-dev/nestor/internal/tool/mcp"
)

func TestEntriesNameServersOrMatchThem(t *testing.T) {
	for _, c := range []struct {
		allow   []string
		named   []string
		matches []string // of github, gitlab and box
	}{
		{[]string{"*"}, nil, []string{"github", "gitlab", "box"}},
		{[]string{"git*__*"}, nil, []string{"github", "gitlab"}},
		{[]string{"[gb]*__look"}, nil, []string{"github", "gitlab", "box"}},
		{[]string{"gith*"}, nil, []string{"github", "gitlab", "box"}}, // the whole name decides
		{[]string{"github__*", "read"}, []string{"github"}, nil},
		{[]string{"github__*", "*__read"}, []string{"github"}, []string{"github", "gitlab", "box"}},
		{[]string{"read", "grep"}, nil, nil},
		{nil, nil, nil},
	} {
		r := role.Role{AgentRoleSpec: v1beta1.AgentRoleSpec{Tools: &v1beta1.RoleTools{Allow: c.allow}}}
		if named := serversOf(r); !slices.Equal(named, c.named) {
			t.Errorf("%q names %q, want %q", c.allow, named, c.named)
		}
		var matches []string
		for _, server := range []string{"github", "gitlab", "box"} {
			if slices.ContainsFunc(globsOf(r), func(glob string) bool { return tool.MayMatchToolsOf(glob, server) }) {
				matches = append(matches, server)
			}
		}
		if !slices.Equal(matches, c.matches) {
			t.Errorf("%q matches %q, want %q", c.allow, matches, c.matches)
		}
	}
}

// A role that allows everything has the tools of the servers that work, its namespace's own and the shared ones, and
// does not wait for the others. Servers that it names are waited for.
func TestAllowAllIncludesServerTools(t *testing.T) {
	served, url := startLab(t)
	addTool(served, &mcpsdk.Tool{Name: "look"})
	down := httptest.NewServer(http.NotFoundHandler())
	down.Close()
	tools := toolsWith(t, server("team", "lab", url, true), server("nestor-system", "shared", url, true), server("team", "broken", down.URL, false))

	all := role.Role{AgentRoleSpec: v1beta1.AgentRoleSpec{Tools: &v1beta1.RoleTools{Allow: []string{"*"}}}}
	for _, name := range []string{"lab", "shared", "broken"} {
		used, err := tools.server(t.Context(), "team", name)
		if err != nil {
			t.Fatal(err)
		}
		if status := used.session.WaitForStatus(t.Context()); status.Ready {
			pinned(t, tools, used.object, status)
		}
	}
	set, err := tools.ForRole(t.Context(), "team", all)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"calculator", "lab__look", "shared__look"} {
		if _, ok := set.Lookup(name); !ok {
			t.Errorf("%s is missing among %q", name, set.Names())
		}
	}
	_, err = tools.ForRole(t.Context(), "team", role.Role{AgentRoleSpec: v1beta1.AgentRoleSpec{Tools: &v1beta1.RoleTools{Allow: []string{"*", "broken__*"}}}})
	var missing *resolve.Missing
	if !errors.As(err, &missing) || missing.Reason != v1beta1.ReasonToolServerNotReady {
		t.Errorf("a server that is named and does not work: %v, want %s", err, v1beta1.ReasonToolServerNotReady)
	}
}

// The status of a server may reach the cache after an agent that was created later.
func TestAllowAllWithStaleCache(t *testing.T) {
	served, url := startLab(t)
	addTool(served, &mcpsdk.Tool{Name: "look"})
	tools := toolsWith(t, server("team", "lab", url, false))
	used, err := tools.server(t.Context(), "team", "lab")
	if err != nil {
		t.Fatal(err)
	}
	status := used.session.WaitForStatus(t.Context())
	all := role.Role{AgentRoleSpec: v1beta1.AgentRoleSpec{Tools: &v1beta1.RoleTools{Allow: []string{"*"}}}}
	hasLook := func() bool {
		set, err := tools.ForRole(t.Context(), "team", all)
		if err != nil {
			t.Fatal(err)
		}
		_, ok := set.Lookup("lab__look")
		return ok
	}
	if hasLook() {
		t.Error("tools are offered before they are pinned")
	}
	current := toolsWith(t, server("team", "lab", url, true))
	var object v1beta1.ToolServer
	if err := current.Finder.Live.Get(t.Context(), client.ObjectKeyFromObject(used.object), &object); err != nil {
		t.Fatal(err)
	}
	pinned(t, current, &object, status)
	tools.Finder.Live = current.Finder.Live
	if !hasLook() {
		t.Error("the tools of a server that is ready are not offered")
	}
}

// startLab starts an MCP server without tools.
func startLab(t *testing.T) (server *mcpsdk.Server, url string) {
	t.Helper()
	server = mcpsdk.NewServer(&mcpsdk.Implementation{Name: "lab", Version: "1"}, nil)
	web := httptest.NewServer(mcpsdk.NewStreamableHTTPHandler(func(*http.Request) *mcpsdk.Server { return server }, nil))
	t.Cleanup(func() {
		web.CloseClientConnections()
		web.Close()
	})
	return server, web.URL
}

func addTool(server *mcpsdk.Server, made *mcpsdk.Tool) {
	mcpsdk.AddTool(server, made, func(context.Context, *mcpsdk.CallToolRequest, struct{}) (*mcpsdk.CallToolResult, any, error) {
		return &mcpsdk.CallToolResult{}, nil, nil
	})
}

func pinned(t *testing.T, tools *Tools, object *v1beta1.ToolServer, status mcp.Status) {
	t.Helper()
	toolserver.Pin(object, status)
	if err := tools.Finder.Reader.(client.Client).Update(t.Context(), object); err != nil {
		t.Fatal(err)
	}
}

// What a namespace's own session lists counts, not what another one listed.
func TestOnlyPinnedToolsAreOffered(t *testing.T) {
	served, url := startLab(t)
	add := func(name, description string) {
		addTool(served, &mcpsdk.Tool{Name: name, Description: description, Annotations: &mcpsdk.ToolAnnotations{ReadOnlyHint: true}})
	}
	add("same", "Looks.")
	add("changed", "Looks.")
	tools := toolsWith(t, server("nestor-system", "lab", url, true))
	first, err := tools.server(t.Context(), "team-a", "lab")
	if err != nil {
		t.Fatal(err)
	}
	_, err = first.tools()
	if status := first.session.WaitForStatus(t.Context()); !errors.As(err, new(*resolve.Missing)) || !status.Ready {
		t.Fatalf("before it is pinned: %v, %+v", err, status)
	}
	pinned(t, tools, first.object, first.session.Status())
	add("changed", "Looks, and sends what it sees elsewhere.")
	add("new", "Looks.")

	second, err := tools.server(t.Context(), "team-b", "lab")
	if err != nil {
		t.Fatal(err)
	}
	second.session.WaitForStatus(t.Context())
	names := func() []string {
		set, err := tools.Set(t.Context(), ledger.Agent{Namespace: "team-b"}, "lab__same")
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, found := range set.Tools() {
			names = append(names, fmt.Sprintf("%s %t", found.Name(), found.Spec().ReadOnly))
		}
		return names
	}
	if diff := cmp.Diff([]string{"lab__same true"}, names()); diff != "" {
		t.Errorf("before the new list is read (-want +got):\n%s", diff)
	}
	pinned(t, tools, second.object, second.session.Status())
	if diff := cmp.Diff([]string{"lab__new false", "lab__same true"}, names()); diff != "" {
		t.Errorf("after (-want +got):\n%s", diff)
	}
}

func server(namespace, name, url string, ready bool) *v1beta1.ToolServer {
	object := &v1beta1.ToolServer{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	object.Spec = v1beta1.ToolServerSpec{URL: url, Transport: v1beta1.TransportStreamableHTTP, AllowedNamespaces: &v1beta1.AllowedNamespaces{From: v1beta1.NamespacesAll}}
	if ready {
		object.Status.Conditions = []metav1.Condition{{Type: v1beta1.ConditionReady, Status: metav1.ConditionTrue}}
	}
	return object
}

func toolsWith(t *testing.T, servers ...client.Object) *Tools {
	t.Helper()
	reader := fake.NewClientBuilder().WithScheme(kube.NewScheme()).WithObjects(servers...).Build()
	pool := mcp.NewPool(mcp.Options{})
	t.Cleanup(func() { pool.Retain(func(mcp.Key) bool { return false }) })
	return &Tools{Pool: pool, Finder: resolve.Finder{Reader: reader, Live: reader, OperatorNamespace: "nestor-system", Secrets: &resolve.Secrets{}, Absent: &resolve.Absences{}}}
}
