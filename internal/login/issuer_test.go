// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package login_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"golang.org/x/oauth2"
)

// issuer is an authorization server, and a tool server that accepts its tokens.
type issuer struct {
	*httptest.Server
	tools *httptest.Server

	mu       sync.Mutex
	metadata map[string]any // replaces fields of its metadata; nil removes one
	resource map[string]any // replaces fields of the tool server's
	life     int            // of tokens in seconds; 0 means none is named
	refuse   string         // the error code of the token endpoint
	clients  int
	grants   map[string]url.Values // the authorization request, by code
	refresh  map[string]bool       // the refresh tokens that are valid
	forms    []url.Values          // of the token endpoint
	revoked  []string
	issued   int
	gate     chan struct{} // holds refreshes, if not nil
}

func startIssuer(t *testing.T) *issuer {
	t.Helper()
	i := &issuer{metadata: map[string]any{}, resource: map[string]any{}, life: 3600, grants: map[string]url.Values{}, refresh: map[string]bool{}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/oauth-authorization-server", i.publish)
	mux.HandleFunc("POST /register", i.register)
	mux.HandleFunc("POST /token", i.token)
	mux.HandleFunc("POST /revoke", i.revoke)
	i.Server = httptest.NewServer(mux)
	t.Cleanup(i.Close)
	tools := http.NewServeMux()
	tools.HandleFunc("GET /metadata", i.describeTools)
	tools.HandleFunc("/mcp", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="`+i.tools.URL+`/metadata", scope="read"`)
		w.WriteHeader(http.StatusUnauthorized)
	})
	i.tools = httptest.NewServer(tools)
	t.Cleanup(i.tools.Close)
	return i
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

func (i *issuer) publish(w http.ResponseWriter, _ *http.Request) {
	i.mu.Lock()
	defer i.mu.Unlock()
	answer(w, http.StatusOK, merged(map[string]any{
		"issuer": i.URL, "authorization_endpoint": i.URL + "/authorize", "token_endpoint": i.URL + "/token",
		"registration_endpoint": i.URL + "/register", "revocation_endpoint": i.URL + "/revoke",
		"response_types_supported": []string{"code"}, "code_challenge_methods_supported": []string{"S256"},
		"authorization_response_iss_parameter_supported": true, "token_endpoint_auth_methods_supported": []string{"none"},
	}, i.metadata))
}

func (i *issuer) describeTools(w http.ResponseWriter, _ *http.Request) {
	i.mu.Lock()
	defer i.mu.Unlock()
	answer(w, http.StatusOK, merged(map[string]any{"resource": i.tools.URL + "/mcp", "authorization_servers": []string{i.URL}}, i.resource))
}

func (i *issuer) register(w http.ResponseWriter, r *http.Request) {
	var wanted map[string]any
	_ = json.NewDecoder(r.Body).Decode(&wanted)
	i.mu.Lock()
	defer i.mu.Unlock()
	i.clients++
	wanted["client_id"] = fmt.Sprintf("client-%d", i.clients)
	answer(w, http.StatusCreated, wanted)
}

// consent is what a person's browser does: it opens the address, consents, and returns with the answer.
func (i *issuer) consent(t *testing.T, address string) url.Values {
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

func (i *issuer) token(w http.ResponseWriter, r *http.Request) {
	_ = r.ParseForm()
	i.mu.Lock()
	gate := i.gate
	i.mu.Unlock()
	if gate != nil && r.PostForm.Get("grant_type") == "refresh_token" {
		<-gate
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	form := r.PostForm
	i.forms = append(i.forms, form)
	refused := func(code string) {
		answer(w, http.StatusBadRequest, map[string]string{"error": code, "error_description": "very-secret " + form.Get("code") + form.Get("refresh_token")})
	}
	if i.refuse != "" {
		refused(i.refuse)
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
		if !i.refresh[form.Get("refresh_token")] {
			clear(i.refresh) // the second use of a refresh token is taken for a theft
			refused("invalid_grant")
			return
		}
		delete(i.refresh, form.Get("refresh_token"))
	default:
		refused("unsupported_grant_type")
		return
	}
	i.issued++
	next := fmt.Sprintf("very-secret-refresh-%d", i.issued)
	i.refresh[next] = true
	issued := map[string]any{"access_token": fmt.Sprintf("very-secret-access-%d", i.issued), "token_type": "Bearer", "refresh_token": next}
	if i.life != 0 {
		issued["expires_in"] = i.life
	}
	answer(w, http.StatusOK, issued)
}

func (i *issuer) revoke(_ http.ResponseWriter, r *http.Request) {
	_ = r.ParseForm()
	i.mu.Lock()
	defer i.mu.Unlock()
	i.revoked = append(i.revoked, r.PostForm.Get("token"))
	delete(i.refresh, r.PostForm.Get("token"))
}

func (i *issuer) change(change func()) {
	i.mu.Lock()
	defer i.mu.Unlock()
	change()
}

func (i *issuer) tokenRequests() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return len(i.forms)
}
