// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
)

// upstream imitates the part of an API server that the page uses: it validates tokens, lists and watches chats, and
// follows a transcript.
type upstream struct {
	*httptest.Server
	config *rest.Config

	mu       sync.Mutex
	received []*http.Request
	users    map[string]string   // by token
	denied   string              // a forbidden resource
	expired  map[string]bool     // expired resource versions
	chats    []string            // names in a list
	version  string              // of the list
	changes  chan map[string]any // events of a watch of chats
	entries  []string            // of the transcript, by seq from 1
	historic bool                // the history API is served
	may      map[string]bool     // the namespaces with permissions; nil means all
	spaces   []string            // namespaces in a list; nil means that the person may not list them
	missing  string              // a path that answers 404
}

// Valid tokens.
const (
	knownToken = "known-token"
	otherToken = "other-token"
)

func (u *upstream) expireToken(token string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.users, token)
}

func (u *upstream) user(r *http.Request) (name string, known bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	name, known = u.users[strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")]
	return name, known
}

func newUpstream(t *testing.T) *upstream {
	t.Helper()
	u := &upstream{version: "10", changes: make(chan map[string]any), expired: map[string]bool{}, historic: true, users: map[string]string{knownToken: "alice", otherToken: "bob"}}
	u.Server = httptest.NewServer(u)
	t.Cleanup(u.Close)
	// The server's own credentials must never be used.
	u.config = &rest.Config{Host: u.URL, BearerToken: "the-servers-own"}
	return u
}

func (u *upstream) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	u.mu.Lock()
	u.received = append(u.received, r.Clone(context.WithoutCancel(r.Context())))
	u.mu.Unlock()
	query := r.URL.Query()
	user, known := u.user(r)
	switch {
	case !known:
		status(w, http.StatusUnauthorized, "Unauthorized", "Unauthorized")
	case u.denied != "" && strings.Contains(r.URL.Path, u.denied):
		status(w, http.StatusForbidden, "Forbidden", "you may not")
	case u.missing == r.URL.Path:
		status(w, http.StatusNotFound, "NotFound", "not found")
	case strings.HasSuffix(r.URL.Path, "/selfsubjectreviews"):
		reply(w, map[string]any{"kind": "SelfSubjectReview", "apiVersion": "authentication.k8s.io/v1", "status": map[string]any{"userInfo": map[string]any{"username": user, "groups": []string{"platform", "system:authenticated"}}}})
	case strings.HasSuffix(r.URL.Path, "/selfsubjectaccessreviews"):
		reply(w, map[string]any{"kind": "SelfSubjectAccessReview", "apiVersion": "authorization.k8s.io/v1", "status": map[string]any{"allowed": u.allows(r)}})
	case u.may != nil && strings.HasSuffix(r.URL.Path, "/api/v1/namespaces"):
		u.listNamespaces(w)
	case strings.HasSuffix(r.URL.Path, "/log"):
		u.follow(w, r)
	case strings.HasSuffix(r.URL.Path, "/toolservers/files"):
		reply(w, map[string]any{"kind": "ToolServer", "apiVersion": "nestor.dev/v1beta1", "metadata": map[string]any{"name": "files", "namespace": "team"}})
	case strings.HasSuffix(r.URL.Path, "/agentroles/coder"):
		reply(w, gatedRole())
	case strings.HasSuffix(r.URL.Path, "/controllerrevisions"):
		reply(w, map[string]any{"kind": "ControllerRevisionList", "apiVersion": "apps/v1", "items": []any{revisionOf("bbb", 2), revisionOf("aaa", 1)}})
	case query.Get("watch") == "true" && u.expired[query.Get("resourceVersion")]:
		status(w, http.StatusGone, "Expired", "too old")
	case query.Get("watch") == "true":
		u.watch(w, r)
	default:
		group, kind := kindOf(r.URL.Path)
		reply(w, map[string]any{"kind": kind, "apiVersion": group + "/v1beta1", "metadata": map[string]any{"resourceVersion": u.version}, "items": u.items(r)})
	}
}

// kindOf returns the group and kind of a list.
func kindOf(path string) (group, kind string) {
	resource := path[strings.LastIndex(path, "/")+1:]
	if resource == transcripts {
		return "history.nestor.dev", "TranscriptList"
	}
	lists := map[string]string{chats: "AgentChatList", tasks: "AgentTaskList", subAgents: "SubAgentList", toolPolicies: "ToolPolicyList"}
	return "nestor.dev", cmp.Or(lists[resource], "List")
}

// allows reports whether the person has permissions in the namespace of a review.
func (u *upstream) allows(r *http.Request) bool {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return false
	}
	review := &authorizationv1.SelfSubjectAccessReview{}
	if _, _, err := scheme.Codecs.UniversalDeserializer().Decode(body, nil, review); err != nil { // clients send protobuf
		return false
	}
	return u.may == nil || u.may[review.Spec.ResourceAttributes.Namespace]
}

func (u *upstream) listNamespaces(w http.ResponseWriter) {
	if u.spaces == nil {
		status(w, http.StatusForbidden, "Forbidden", "you may not list namespaces")
		return
	}
	items := []any{}
	for _, name := range u.spaces {
		items = append(items, map[string]any{"metadata": map[string]any{"name": name}})
	}
	reply(w, map[string]any{"kind": "NamespaceList", "apiVersion": "v1", "items": items})
}

func (u *upstream) items(r *http.Request) []any {
	items := []any{}
	if !strings.HasSuffix(r.URL.Path, "/"+chats) {
		return items
	}
	for _, name := range u.chats {
		items = append(items, object(name, "1"))
	}
	return items
}

func object(name, version string) map[string]any {
	return map[string]any{"kind": "AgentChat", "apiVersion": "nestor.dev/v1beta1", "metadata": map[string]any{
		"name": name, "uid": name + "-uid", "resourceVersion": version, "managedFields": []any{map[string]any{"manager": "somebody"}},
	}}
}

// watch sends the changes of chats; other kinds do not change.
func (u *upstream) watch(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_ = http.NewResponseController(w).Flush() // a test that waits for the header fails otherwise
	changes := u.changes
	if !strings.HasSuffix(r.URL.Path, "/"+chats) {
		changes = nil
	}
	for {
		select {
		case change := <-changes:
			_ = json.NewEncoder(w).Encode(change) // the client may have disconnected
			_ = http.NewResponseController(w).Flush()
		case <-r.Context().Done():
			return
		}
	}
}

// follow sends the entries of the transcript after since, and ends like a server that went down.
func (u *upstream) follow(w http.ResponseWriter, r *http.Request) {
	if !u.historic {
		http.NotFound(w, r)
		return
	}
	since := 0
	_, _ = fmt.Sscan(r.URL.Query().Get("since"), &since) // absent: from the first
	for i, entry := range u.entries {
		if i+1 > since {
			fmt.Fprintln(w, entry)
		}
	}
	_ = http.NewResponseController(w).Flush()
	<-r.Context().Done()
}

func reply(w http.ResponseWriter, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Set-Cookie", "upstream=1")
	_ = json.NewEncoder(w).Encode(value) // a test that reads it fails otherwise
}

func status(w http.ResponseWriter, code int, reason, message string) {
	writeJSON(w, code, map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reason, "message": message})
}

// requests returns the received requests as "METHOD path?query".
func (u *upstream) requests() []string {
	u.mu.Lock()
	defer u.mu.Unlock()
	var all []string
	for _, r := range u.received {
		all = append(all, r.Method+" "+r.URL.RequestURI())
	}
	return all
}

// acted returns the requests except reviews of tokens.
func (u *upstream) acted() []string {
	return slices.DeleteFunc(u.requests(), func(request string) bool { return strings.HasSuffix(request, "/selfsubjectreviews") })
}

func (u *upstream) last(t *testing.T) *http.Request {
	t.Helper()
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.received) == 0 {
		t.Fatal("the API server received no request")
	}
	return u.received[len(u.received)-1]
}

// tokenSite returns a page for people with tokens, which retries at once.
func (u *upstream) tokenSite() http.Handler {
	return newSite(Options{Identity: Tokens(u.config, false), Namespace: "default"}, retryPolicy{first: time.Millisecond, max: 5 * time.Millisecond, review: time.Hour})
}

// ask sends a request to a page as its own script would.
func ask(t *testing.T, handler http.Handler, method, path string, edit func(*http.Request)) *httptest.ResponseRecorder {
	t.Helper()
	body := ""
	if method == http.MethodPost {
		body = "{}"
	}
	r := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+knownToken)
	if edit != nil {
		edit(r)
	}
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	return w
}

// acceptToken makes a token one of alice.
func (u *upstream) acceptToken(token string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.users[token] = "alice"
}
