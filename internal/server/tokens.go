// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"

	"github.com/nestor-dev/nestor/internal/listen"
)

// maxToken bounds a token, because browsers drop cookies of more than 4096 bytes.
const maxToken = 3800

// loginTimeout limits how long a client may take to send a token. The request is not authenticated before that.
const loginTimeout = 10 * time.Second

// tokenIdentity is an Identity that forwards bearer tokens.
type tokenIdentity struct {
	api    *rest.Config // without credentials
	secure bool
	cookie string
}

// Tokens returns an Identity for people with bearer tokens of the cluster. Only the address of the API server is
// taken from config, no credentials. secure means that the page is served over TLS, here or by a proxy.
func Tokens(config *rest.Config, secure bool) Identity { return newTokenIdentity(config, secure) }

func newTokenIdentity(config *rest.Config, secure bool) *tokenIdentity {
	return &tokenIdentity{api: unthrottled(rest.AnonymousClientConfig(config)), secure: secure, cookie: hostCookie("nestor-token", secure)}
}

func (t *tokenIdentity) SignIn() string { return SignInToken }

func (t *tokenIdentity) Config(r *http.Request) (*rest.Config, error) {
	token := t.token(r)
	if token == "" {
		return nil, ErrSignedOut
	}
	return t.configFor(token), nil
}

func (t *tokenIdentity) configFor(token string) *rest.Config {
	config := rest.CopyConfig(t.api)
	config.BearerToken = token
	return config
}

func (t *tokenIdentity) token(r *http.Request) string {
	if scheme, token, ok := strings.Cut(r.Header.Get("Authorization"), " "); ok && strings.EqualFold(scheme, "Bearer") {
		return strings.TrimSpace(token)
	}
	cookie, err := r.Cookie(t.cookie)
	if err != nil {
		return ""
	}
	return cookie.Value
}

func (t *tokenIdentity) Routes(mux *http.ServeMux) {
	mux.HandleFunc("POST /api/login", t.login)
	mux.HandleFunc("POST /api/logout", t.logout)
}

// login stores a token that the API server accepts in a cookie.
func (t *tokenIdentity) login(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Token string `json:"token"`
	}
	if !isJSON(r) {
		writeError(w, errNotJSON())
		return
	}
	if err := listen.ReadBody(w, r, 2*maxToken, loginTimeout); err != nil {
		writeError(w, err)
		return
	}
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		writeError(w, apierrors.NewBadRequest("Send JSON with a token."))
		return
	}
	token := strings.TrimSpace(body.Token)
	if err := checkToken(token); err != nil {
		writeError(w, apierrors.NewBadRequest(err.Error()))
		return
	}
	if _, err := review(r.Context(), t.configFor(token)); err != nil {
		writeError(w, err)
		return
	}
	http.SetCookie(w, strictCookie(t.cookie, token, t.secure, sessionSeconds))
	w.WriteHeader(http.StatusNoContent)
}

func (t *tokenIdentity) logout(w http.ResponseWriter, _ *http.Request) {
	http.SetCookie(w, strictCookie(t.cookie, "", t.secure, -1))
	w.WriteHeader(http.StatusNoContent)
}

func checkToken(token string) error {
	if token == "" {
		return errors.New("paste a token first")
	}
	if len(token) > maxToken {
		return fmt.Errorf("the token has more than %d characters, which is too long for a cookie: use a proxy that sends it with every request", maxToken)
	}
	for _, c := range token {
		if c <= ' ' || c >= 0x7f || strings.ContainsRune("\",;\\", c) {
			return errors.New("this is not a token: it has characters that tokens do not have")
		}
	}
	return nil
}
