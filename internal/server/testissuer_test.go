// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"encoding/pem"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/coreos/go-oidc/v3/oidc/oidctest"
	"golang.org/x/oauth2"
)

const testClient = "nestor"

// testIssuer is an issuer at which everyone is alice. Codes and refresh tokens work once.
type testIssuer struct {
	*httptest.Server
	upstream *upstream
	key      *rsa.PrivateKey
	caFile   string

	codes     map[string]url.Values // requests by code
	refresh   string                // the current refresh token
	revoked   string
	claims    map[string]any // instead of those of a correct ID token
	skipPKCE  bool
	untrusted bool // the API server does not accept its tokens
	down      bool // it answers with status 503
}

func newTestIssuer(t *testing.T, u *upstream) *testIssuer {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	i := &testIssuer{upstream: u, key: key, codes: map[string]url.Values{}, caFile: filepath.Join(t.TempDir(), "ca.crt")}
	keys := &oidctest.Server{PublicKeys: []oidctest.PublicKey{{PublicKey: key.Public(), KeyID: "one", Algorithm: "RS256"}}}
	mux := http.NewServeMux()
	mux.Handle("GET /keys", keys)
	mux.HandleFunc("GET /.well-known/openid-configuration", i.discovery)
	mux.HandleFunc("POST /token", i.token)
	mux.HandleFunc("POST /revoke", func(_ http.ResponseWriter, r *http.Request) { i.revoked = r.FormValue("token") })
	i.Server = httptest.NewTLSServer(mux)
	t.Cleanup(i.Close)
	keys.SetIssuer(i.URL)
	if err := os.WriteFile(i.caFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: i.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	return i
}

func (i *testIssuer) discovery(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, map[string]any{
		"issuer": i.URL, "authorization_endpoint": i.URL + "/auth", "token_endpoint": i.URL + "/token", "jwks_uri": i.URL + "/keys",
		"revocation_endpoint": i.URL + "/revoke", "id_token_signing_alg_values_supported": []string{"RS256"},
	})
}

// authorize signs alice in, and returns the code for the request.
func (i *testIssuer) authorize(request url.Values) string {
	code := rand.Text()
	i.codes[code] = request
	return code
}

func (i *testIssuer) token(w http.ResponseWriter, r *http.Request) {
	if i.down {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	nonce := ""
	switch r.FormValue("grant_type") {
	case "authorization_code":
		request, known := i.codes[r.FormValue("code")]
		delete(i.codes, r.FormValue("code"))
		if !known || !i.skipPKCE && request.Get("code_challenge") != oauth2.S256ChallengeFromVerifier(r.FormValue("code_verifier")) {
			writeJSON(w, http.StatusBadRequest, map[string]string{"error": "invalid_grant", "error_description": "the code is not valid"})
			return
		}
		nonce = request.Get("nonce")
	default:
		if i.refresh == "" || r.FormValue("refresh_token") != i.refresh {
			i.refresh = "" // a second use is a theft
			writeJSON(w, http.StatusBadRequest, map[string]string{"error": "invalid_grant"})
			return
		}
	}
	claims := map[string]any{"iss": i.URL, "aud": testClient, "sub": "alice", "exp": time.Now().Add(5 * time.Minute).Unix(), "nonce": nonce, "jti": rand.Text()}
	maps.Copy(claims, i.claims)
	text, err := json.Marshal(claims)
	if err != nil {
		panic(err) // it is JSON
	}
	id := oidctest.SignIDToken(i.key, "one", "RS256", string(text))
	if !i.untrusted {
		i.upstream.acceptToken(id)
	}
	i.refresh = rand.Text()
	writeJSON(w, http.StatusOK, map[string]any{"access_token": "unused", "token_type": "Bearer", "id_token": id, "refresh_token": i.refresh})
}
