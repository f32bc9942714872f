// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"cmp"
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

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/login/request"
)

// LocalOptions configure a page on this machine.
type LocalOptions struct {
	// Config is the identity that the page acts with.
	Config *rest.Config
	// Namespace is the initial namespace of the page; empty means default.
	Namespace string
	// OperatorNamespace is the namespace of the operator; empty means nestor-system.
	OperatorNamespace string
	// Address is the loopback address to listen on; empty means a free port of 127.0.0.1.
	Address string
	// Workspace is the workspace that the page proposes for new chats; nil means none.
	Workspace *v1beta1.Workspace
	// Ideas are first messages that the page proposes; empty means its own.
	Ideas []string
	// GatewayURL is where programs reach the gateway; empty if that is not known.
	GatewayURL string
	// Listener is used instead of Address if it is set. It must be on loopback.
	Listener net.Listener
	// Logins logs the person in to tool servers; nil if that is not possible.
	Logins func(context.Context, request.Request) (request.Result, error)
	// SessionFile keeps the session over restarts, so that an open page stays signed in; empty means that it ends with the server. A program
	// that can read the file can act as the person.
	SessionFile string
}

// Local serves the page to one person on this machine until ctx ends. It returns a one-time link that signs the
// person in; anyone who has it acts as that person. done receives the result of serving.
func Local(ctx context.Context, options LocalOptions) (link string, done <-chan error, err error) {
	listener, err := options.listen(ctx)
	if err != nil {
		return "", nil, err
	}
	owner, err := newLocalIdentity(options.Config, options.SessionFile)
	if err != nil {
		return "", nil, errors.Join(err, listener.Close())
	}
	handler := New(Options{Identity: owner, Namespace: options.Namespace, OperatorNamespace: options.OperatorNamespace, Hosts: loopbackNames(listener), Workspace: options.Workspace, Ideas: options.Ideas, GatewayURL: options.GatewayURL, Logins: options.Logins})
	stopped := make(chan error, 1)
	go func() { stopped <- Serve(ctx, listener, handler) }()
	return "http://" + listener.Addr().String() + "/login?token=" + owner.linkSecret, stopped, nil
}

// listen returns a listener that only programs on this machine can reach.
func (o LocalOptions) listen(ctx context.Context) (net.Listener, error) {
	listener := o.Listener
	if listener == nil {
		address := cmp.Or(o.Address, "127.0.0.1:0")
		var err error
		if listener, err = (&net.ListenConfig{}).Listen(ctx, "tcp", address); err != nil {
			return nil, fmt.Errorf("listen for the page at %s: %w", address, err)
		}
	}
	if at, ok := listener.Addr().(*net.TCPAddr); !ok || !at.IP.IsLoopback() {
		return nil, errors.Join(fmt.Errorf("%s is not on loopback: the page acts with your identity, so it must not be reachable by others", listener.Addr()), listener.Close())
	}
	return listener, nil
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

type localIdentity struct {
	config *rest.Config
	cookie string
	file   sessionFile

	mu         sync.Mutex
	linkSecret string // empty after use
	session    string // empty until then
}

func newLocalIdentity(config *rest.Config, file string) (*localIdentity, error) {
	// Cookies are per host, not per port: two pages on one machine need different names.
	o := &localIdentity{config: unthrottled(config), cookie: "nestor-session-" + strings.ToLower(rand.Text()[:8]), file: sessionFile(file), linkSecret: rand.Text()}
	session, err := o.file.read()
	if err != nil {
		return nil, err
	}
	if session.Session != "" {
		o.cookie, o.session = session.Cookie, session.Session
	}
	return o, nil
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
	session, err := o.exchangeLink(r.FormValue("token"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	if session != "" {
		http.SetCookie(w, strictCookie(o.cookie, session, false, sessionSeconds))
	}
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

// exchangeLink returns the session for the secret of the link. A session that was kept stays valid for the pages that are open.
func (o *localIdentity) exchangeLink(secret string) (string, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !equalSecrets(secret, o.linkSecret) {
		return "", nil
	}
	if o.session == "" {
		session := rand.Text()
		if err := o.file.write(keptSession{Cookie: o.cookie, Session: session}); err != nil {
			return "", err
		}
		o.session = session
	}
	o.linkSecret = ""
	return o.session, nil
}

// equalSecrets compares secrets in constant time. Empty secrets never match.
func equalSecrets(given, secret string) bool {
	return secret != "" && subtle.ConstantTimeCompare([]byte(given), []byte(secret)) == 1
}
