// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package logintest has an authorization server, and a tool server that requires its tokens.
package logintest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/oauth2"
)

// Issuer is an authorization server, and a tool server that accepts its tokens.
type Issuer struct {
	*httptest.Server
	Tools *httptest.Server

	mu       sync.Mutex
	Metadata map[string]any // replaces fields of its metadata; nil removes one
	Resource map[string]any // replaces fields of the tool server's
	Life     int            // of tokens in seconds; 0 means none is named
	Refuse   string         // the error code of the token endpoint
	Clients  int
	grants   map[string]url.Values // the authorization request, by code
	Refresh  map[string]bool       // the refresh tokens that are valid
	Forms    []url.Values          // of the token endpoint
	Revoked  []string
	issued   int
	Gate     chan struct{} // holds refreshes, if not nil
	access   map[string]bool
	effects  []string // the token of each call that took effect
}

func Start(t testing.TB) *Issuer {
	t.Helper()
	i := &Issuer{Metadata: map[string]any{}, Resource: map[string]any{}, Life: 3600, grants: map[string]url.Values{}, Refresh: map[string]bool{}, access: map[string]bool{}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/oauth-authorization-server", i.publish)
	mux.HandleFunc("POST /register", i.register)
	mux.HandleFunc("POST /token", i.token)
	mux.HandleFunc("POST /revoke", i.revoke)
	i.Server = httptest.NewServer(mux)
	t.Cleanup(i.Close)
	tools := http.NewServeMux()
	tools.HandleFunc("GET /metadata", i.describeTools)
	server := mcp.NewServer(&mcp.Implementation{Name: "files", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "act", Description: "Changes something for the person."}, i.act)
	served := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)
	tools.HandleFunc("/mcp", func(w http.ResponseWriter, r *http.Request) {
		if i.accepts(r) {
			served.ServeHTTP(w, r)
			return
		}
		w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="`+i.Tools.URL+`/metadata", scope="read"`)
		w.WriteHeader(http.StatusUnauthorized)
	})
	i.Tools = httptest.NewServer(tools)
	t.Cleanup(func() {
		i.Tools.CloseClientConnections()
		i.Tools.Close()
	})
	return i
}

// accepts reports whether a request has a token of this issuer.
func (i *Issuer) accepts(r *http.Request) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.access[strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")]
}

func (i *Issuer) act(_ context.Context, request *mcp.CallToolRequest, in struct {
	What string `json:"what"`
}) (*mcp.CallToolResult, any, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	token := strings.TrimPrefix(request.Extra.Header.Get("Authorization"), "Bearer ")
	i.effects = append(i.effects, in.What+" "+token)
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "did " + in.What}}}, nil, nil
}

// Effects returns what the tool act did, with the token.
func (i *Issuer) Effects() []string {
	i.mu.Lock()
	defer i.mu.Unlock()
	return slices.Clone(i.effects)
}

// RevokeAll makes all tokens invalid, as a person does at the issuer.
func (i *Issuer) RevokeAll() {
	i.mu.Lock()
	defer i.mu.Unlock()
	clear(i.access)
	clear(i.Refresh)
}

func merged(base, changes map[string]any) map[string]any {
	for name, value := range changes {
		if base[name] = value; value == nil {
			delete(base, name)
		}
	}
	return base
}

func answer(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(value)
}

func (i *Issuer) publish(w http.ResponseWriter, _ *http.Request) {
	i.mu.Lock()
	defer i.mu.Unlock()
	answer(w, http.StatusOK, merged(map[string]any{
		"issuer": i.URL, "authorization_endpoint": i.URL + "/authorize", "token_endpoint": i.URL + "/token",
		"registration_endpoint": i.URL + "/register", "revocation_endpoint": i.URL + "/revoke",
		"response_types_supported": []string{"code"}, "code_challenge_methods_supported": []string{"S256"},
		"authorization_response_iss_parameter_supported": true, "token_endpoint_auth_methods_supported": []string{"none"},
	}, i.Metadata))
}

func (i *Issuer) describeTools(w http.ResponseWriter, _ *http.Request) {
	i.mu.Lock()
	defer i.mu.Unlock()
	answer(w, http.StatusOK, merged(map[string]any{"resource": i.Tools.URL + "/mcp", "authorization_servers": []string{i.URL}}, i.Resource))
}

func (i *Issuer) register(w http.ResponseWriter, r *http.Request) {
	var wanted map[string]any
	_ = json.NewDecoder(r.Body).Decode(&wanted)
	i.mu.Lock()
	defer i.mu.Unlock()
	i.Clients++
	wanted["client_id"] = fmt.Sprintf("client-%d", i.Clients)
	answer(w, http.StatusCreated, wanted)
}

// Consent is what a person's browser does: it opens the address, consents, and returns with the answer.
func (i *Issuer) Consent(t testing.TB, address string) url.Values {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil || !strings.HasPrefix(address, i.URL+"/authorize?") {
		t.Fatalf("the browser is sent to %s (%v)", address, err)
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	code := fmt.Sprintf("code-%d", len(i.grants)+1)
	i.grants[code] = u.Query()
	return url.Values{"state": {u.Query().Get("state")}, "code": {code}, "iss": {i.URL}}
}

func (i *Issuer) token(w http.ResponseWriter, r *http.Request) {
	_ = r.ParseForm()
	i.mu.Lock()
	gate := i.Gate
	i.mu.Unlock()
	if gate != nil && r.PostForm.Get("grant_type") == "refresh_token" {
		<-gate
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	form := r.PostForm
	i.Forms = append(i.Forms, form)
	refused := func(code string) {
		answer(w, http.StatusBadRequest, map[string]string{"error": code, "error_description": "very-secret " + form.Get("code") + form.Get("refresh_token")})
	}
	if i.Refuse != "" {
		refused(i.Refuse)
		return
	}
	switch form.Get("grant_type") {
	case "authorization_code":
		asked, ok := i.grants[form.Get("code")]
		delete(i.grants, form.Get("code"))
		challenge := oauth2.S256ChallengeFromVerifier(form.Get("code_verifier"))
		same := asked.Get("client_id") == form.Get("client_id") && asked.Get("redirect_uri") == form.Get("redirect_uri") && asked.Get("resource") == form.Get("resource")
		if !ok || !same || asked.Get("code_challenge_method") != "S256" || asked.Get("code_challenge") != challenge {
			refused("invalid_grant")
			return
		}
	case "refresh_token":
		if !i.Refresh[form.Get("refresh_token")] {
			clear(i.Refresh) // the second use of a refresh token is taken for a theft
			refused("invalid_grant")
			return
		}
		delete(i.Refresh, form.Get("refresh_token"))
	default:
		refused("unsupported_grant_type")
		return
	}
	i.issued++
	next := fmt.Sprintf("very-secret-refresh-%d", i.issued)
	i.Refresh[next] = true
	issued := map[string]any{"access_token": fmt.Sprintf("very-secret-access-%d", i.issued), "token_type": "Bearer", "refresh_token": next}
	i.access[fmt.Sprintf("very-secret-access-%d", i.issued)] = true
	if i.Life != 0 {
		issued["expires_in"] = i.Life
	}
	answer(w, http.StatusOK, issued)
}

func (i *Issuer) revoke(_ http.ResponseWriter, r *http.Request) {
	_ = r.ParseForm()
	i.mu.Lock()
	defer i.mu.Unlock()
	i.Revoked = append(i.Revoked, r.PostForm.Get("token"))
	delete(i.Refresh, r.PostForm.Get("token"))
	delete(i.access, r.PostForm.Get("token"))
}

func (i *Issuer) Change(change func()) {
	i.mu.Lock()
	defer i.mu.Unlock()
	change()
}

func (i *Issuer) TokenRequests() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return len(i.Forms)
}
