// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"

	"k8s.io/client-go/rest"

	"github.com/nestor-dev/nestor/api/v1alpha1"
)

// LocalOptions configure a page on this machine.
type LocalOptions struct {
	// Config is the identity that the page acts with.
	Config *rest.Config
	// Namespace is the initial namespace of the page; empty means default.
	Namespace string
	// Address is the loopback address to listen on; empty means a free port of 127.0.0.1.
	Address string
	// Workspace is the workspace that the page proposes for new chats; nil means none.
	Workspace *v1alpha1.Workspace
}

// Local serves the page to one person on this machine until ctx ends. It returns a one-time link that signs the
// person in; anyone who has it acts as that person. done receives the result of serving.
func Local(ctx context.Context, options LocalOptions) (link string, done <-chan error, err error) {
	address := options.Address
	if address == "" {
		address = "127.0.0.1:0"
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return "", nil, fmt.Errorf("listen for the page at %s: %w", address, err)
	}
	if !listener.Addr().(*net.TCPAddr).IP.IsLoopback() {
		return "", nil, errors.Join(fmt.Errorf("%s is not on loopback: the page acts with your identity, so it must not be reachable by others", address), listener.Close())
	}
	owner := newLocalIdentity(options.Config)
	handler := New(Options{Identity: owner, Namespace: options.Namespace, Hosts: loopbackNames(listener), Workspace: options.Workspace})
	stopped := make(chan error, 1)
	go func() { stopped <- Serve(ctx, listener, handler) }()
	return "http://" + listener.Addr().String() + "/login?token=" + owner.linkSecret, stopped, nil
}

// loopbackNames returns the host names under which a local browser may request the page. Any other name may be an
// attempt at DNS rebinding.
func loopbackNames(listener net.Listener) []string {
	_, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		return []string{listener.Addr().String()}
	}
	return []string{"localhost:" + port, "127.0.0.1:" + port, "[::1]:" + port}
}

// localIdentity is the identity of a local page.
type localIdentity struct {
	config *rest.Config
	cookie string

	mu         sync.Mutex
	linkSecret string // empty after use
	session    string // empty until then
}

func newLocalIdentity(config *rest.Config) *localIdentity {
	// Cookies are per host, not per port: two pages on one machine need different names.
	return &localIdentity{config: unthrottled(config), cookie: "nestor-session-" + strings.ToLower(rand.Text()[:8]), linkSecret: rand.Text()}
}

func (o *localIdentity) SignIn() string { return SignInLink }

func (o *localIdentity) Config(r *http.Request) (*rest.Config, error) {
	cookie, err := r.Cookie(o.cookie)
	if err != nil {
		return nil, ErrSignedOut
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if !equalSecrets(cookie.Value, o.session) {
		return nil, ErrSignedOut
	}
	return o.config, nil
}

func (o *localIdentity) Routes(mux *http.ServeMux) { mux.HandleFunc("GET /login", o.login) }

// login exchanges the link for a session. A wrong or used one leads to the page, which explains what to do.
func (o *localIdentity) login(w http.ResponseWriter, r *http.Request) {
	if session := o.exchangeLink(r.FormValue("token")); session != "" {
		http.SetCookie(w, strictCookie(o.cookie, session, false, sessionSeconds))
	}
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

func (o *localIdentity) exchangeLink(secret string) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !equalSecrets(secret, o.linkSecret) {
		return ""
	}
	o.linkSecret, o.session = "", rand.Text()
	return o.session
}

// equalSecrets compares secrets in constant time. Empty secrets never match.
func equalSecrets(given, secret string) bool {
	return secret != "" && subtle.ConstantTimeCompare([]byte(given), []byte(secret)) == 1
}
