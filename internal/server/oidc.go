// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"time"

	"golang.org/x/oauth2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
)

const (
	// signInPath is below /api/, which other sites cannot open: no link elsewhere starts a sign-in.
	signInPath = "/api/oidc/sign-in"
	// callbackPath is where the issuer sends the browser back to, so that it is not below /api/.
	callbackPath = "/oidc/callback"

	// attemptTime is how long a person may take to sign in at the issuer.
	attemptTime = 10 * time.Minute
	// signedOutTime is how long a sign-in after a sign-out requests that the issuer asks for credentials.
	signedOutTime = 24 * time.Hour
	// maxReturn bounds the path to return to, which is kept in a cookie.
	maxReturn = 1000
	// expiryMargin is how long before its end an ID token is refreshed, so that it does not expire during a request.
	expiryMargin = 10 * time.Second
)

// OIDC configures sign-in at an OpenID Connect issuer that the API server trusts.
type OIDC struct {
	// Issuer is the URL of the issuer; empty means that people have only tokens.
	Issuer   string
	ClientID string
	// ClientSecretFile has the secret of the client; empty means that it is public.
	ClientSecretFile string
	// KeysFile has the keys that seal the sessions, one per line; see sessionKeys.
	KeysFile string
	// CAFile has the certificate authorities of the issuer; empty means those of the system.
	CAFile string
	Scopes []string
	// PageURL is where people reach the page, without a slash at its end.
	PageURL string
	// SessionLength is the time after which a person has to sign in again.
	SessionLength time.Duration
}

// attempt is a sign-in that has begun, or the reason why the last one failed.
type attempt struct {
	State, Nonce, Verifier string
	// Return is the path of the page that the person came from.
	Return  string
	Expires time.Time
	// Problem is the reason why the last attempt failed.
	Problem string
	// SignedOut means that the person signed out, so that the issuer has to ask who it is.
	SignedOut bool
}

// issued are the tokens of a person.
type issued struct {
	IDToken, RefreshToken, Subject string
	// Expires is the end of the ID token.
	Expires time.Time
}

// oidcSession is a session, which the browser keeps.
type oidcSession struct {
	issued
	// Ends is the end of the session.
	Ends time.Time
}

func (s oidcSession) current(now time.Time) bool {
	return now.Before(s.Ends) && now.Before(s.Expires.Add(-expiryMargin))
}

// oidcIdentity is an Identity for people who sign in at an issuer, or with tokens. No replica keeps anything: the session is sealed in cookies,
// and the API server gets the ID token.
type oidcIdentity struct {
	*tokenIdentity
	options OIDC
	issuer  *issuer
	session sealedCookie
	attempt sealedCookie
	now     func() time.Time
}

// SignInWithOIDC returns an Identity for people who sign in at an issuer. Those with bearer tokens can use these as with Tokens.
func SignInWithOIDC(config *rest.Config, secure bool, options OIDC) (Identity, error) {
	keys := sessionKeys(options.KeysFile)
	if _, err := keys.read(); err != nil {
		return nil, err
	}
	at, err := newIssuer(options)
	if err != nil {
		return nil, err
	}
	return &oidcIdentity{
		tokenIdentity: newTokenIdentity(config, secure), options: options, issuer: at, now: time.Now,
		session: sealedCookie{name: hostCookie("nestor-session", secure), keys: keys, secure: secure, sameSite: http.SameSiteStrictMode},
		// The issuer's redirect is a request from another site, for which browsers do not send strict cookies.
		attempt: sealedCookie{name: hostCookie("nestor-sign-in", secure), keys: keys, secure: secure, sameSite: http.SameSiteLaxMode},
	}, nil
}

func (o *oidcIdentity) SignIn() string { return SignInOIDC }

func (o *oidcIdentity) Config(r *http.Request) (*rest.Config, error) {
	var session oidcSession
	switch found, err := o.session.read(r, &session); {
	case r.Header.Get("Authorization") != "" || o.token(r) != "" || err == nil && !found: // a sign-in removes the token of an earlier one
		config, err := o.tokenIdentity.Config(r)
		if errors.Is(err, ErrSignedOut) {
			err = o.signedOut(r)
		}
		return config, err
	case err != nil:
		return nil, err
	case !session.current(o.now()):
		return nil, ErrSignedOut
	}
	return o.configFor(session.IDToken), nil
}

// signedOut returns ErrSignedOut with the reason why the last attempt failed, which only the browser that made it gets.
func (o *oidcIdentity) signedOut(r *http.Request) error {
	var last attempt
	if found, err := o.attempt.read(r, &last); !found || err != nil || last.Problem == "" || o.now().After(last.Expires) {
		return ErrSignedOut
	}
	return signInProblem(last.Problem)
}

func (o *oidcIdentity) Routes(mux *http.ServeMux) {
	mux.HandleFunc("POST /api/login", o.login)
	mux.HandleFunc("POST /api/logout", o.logout)
	mux.HandleFunc("POST /api/oidc/refresh", o.refresh)
	mux.HandleFunc("GET "+signInPath, o.begin)
	mux.HandleFunc("GET "+callbackPath, o.finish)
}

// begin sends the browser to the issuer.
func (o *oidcIdentity) begin(w http.ResponseWriter, r *http.Request) {
	var last attempt
	if _, err := o.attempt.read(r, &last); err != nil {
		writeError(w, err)
		return
	}
	a := attempt{
		State: rand.Text(), Nonce: rand.Text(), Verifier: oauth2.GenerateVerifier(), Return: localPath(r.FormValue("return")), Expires: o.now().Add(attemptTime),
		SignedOut: last.SignedOut,
	}
	to, err := o.issuer.signInURL(r.Context(), a)
	if err != nil {
		o.fail(w, r, a, "The issuer "+o.options.Issuer+" does not answer: "+refusal(err))
		return
	}
	if err := o.attempt.write(w, a, signedOutTime); err != nil {
		writeError(w, err)
		return
	}
	http.Redirect(w, r, to, http.StatusSeeOther)
}

// finish starts the session after the issuer has sent the browser back.
func (o *oidcIdentity) finish(w http.ResponseWriter, r *http.Request) {
	var a attempt
	found, err := o.attempt.read(r, &a)
	if err != nil {
		writeError(w, err)
		return
	}
	if !found || !equalSecrets(r.FormValue("state"), a.State) || o.now().After(a.Expires) {
		o.fail(w, r, attempt{SignedOut: a.SignedOut}, "This sign-in was not started in this browser, or took longer than "+attemptTime.String()+". Start it again at "+o.options.PageURL+".")
		return
	}
	if code := r.FormValue("error"); code != "" { // it is the issuer's: no one else has the state
		o.fail(w, r, a, "The issuer did not sign you in: "+issuerError(code, r.FormValue("error_description")))
		return
	}
	got, err := o.issuer.exchange(r.Context(), r.FormValue("code"), a)
	if err != nil {
		o.fail(w, r, a, "The issuer did not sign you in: "+refusal(err))
		return
	}
	if _, err := review(r.Context(), o.configFor(got.IDToken)); err != nil {
		o.fail(w, r, a, o.untrusted(err))
		return
	}
	if err := o.start(w, oidcSession{issued: got, Ends: o.now().Add(o.options.SessionLength)}); err != nil {
		o.fail(w, r, a, err.Error())
		return
	}
	o.attempt.clear(w)
	http.SetCookie(w, strictCookie(o.cookie, "", o.secure, -1))
	http.Redirect(w, r, a.Return, http.StatusSeeOther)
}

// untrusted returns advice if the API server does not accept an ID token that the issuer has just issued.
func (o *oidcIdentity) untrusted(err error) string {
	if !apierrors.IsUnauthorized(err) {
		return "You are signed in at the issuer, but the API server did not answer: " + statusOf(err).Message
	}
	return fmt.Sprintf("You are signed in at the issuer, but the API server does not trust it. An administrator has to configure the API server with the issuer %s and the audience %s, "+
		"and with a claim for the name that your ID token has. Until then, use a token.", o.options.Issuer, o.options.ClientID)
}

// start writes the session, until its end.
func (o *oidcIdentity) start(w http.ResponseWriter, session oidcSession) error {
	return o.session.write(w, session, session.Ends.Sub(o.now()))
}

// fail ends an attempt. The page reads the reason with its next request.
func (o *oidcIdentity) fail(w http.ResponseWriter, r *http.Request, a attempt, problem string) {
	if err := o.attempt.write(w, attempt{Problem: problem, SignedOut: a.SignedOut, Expires: o.now().Add(attemptTime)}, signedOutTime); err != nil {
		writeError(w, err)
		return
	}
	http.Redirect(w, r, localPath(a.Return), http.StatusSeeOther)
}

// refresh continues a session with a new ID token. The page requests it from one of its tabs at a time: an issuer that rotates refresh tokens
// takes a second use of one for a theft.
func (o *oidcIdentity) refresh(w http.ResponseWriter, r *http.Request) {
	var session oidcSession
	found, err := o.session.read(r, &session)
	switch {
	case err != nil:
		writeError(w, err)
		return
	case found && session.current(o.now()): // another tab has done it
		w.WriteHeader(http.StatusNoContent)
		return
	case !found || session.RefreshToken == "" || !o.now().Before(session.Ends):
		o.expire(w)
		return
	}
	got, err := o.issuer.refresh(r.Context(), session.issued)
	if isTemporary(err) {
		writeError(w, apierrors.NewServiceUnavailable("The issuer "+o.options.Issuer+" does not answer: "+refusal(err)))
		return
	}
	if err == nil {
		err = o.start(w, oidcSession{issued: got, Ends: session.Ends})
	}
	if err != nil {
		o.expire(w)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// expire ends a session that cannot continue.
func (o *oidcIdentity) expire(w http.ResponseWriter) {
	o.session.clear(w)
	w.Header().Set("Nestor-Sign-In", SignInOIDC)
	writeError(w, apierrors.NewUnauthorized("Your session is over. Sign in to continue."))
}

// logout ends the session. What the browser forgets is also revoked at the issuer, if it can do that and answers. The browser does not wait
// for the issuer: a person who leaves before its answer would stay signed in.
func (o *oidcIdentity) logout(w http.ResponseWriter, r *http.Request) {
	var session oidcSession
	found, err := o.session.read(r, &session)
	o.session.clear(w)
	if err := o.attempt.write(w, attempt{SignedOut: true}, signedOutTime); err != nil {
		o.attempt.clear(w)
	}
	w.Header().Set("Connection", "close") // the next request must not wait on this connection
	o.tokenIdentity.logout(w, r)
	_ = http.NewResponseController(w).Flush() // without it, the answer follows the issuer's
	if err == nil && found && session.RefreshToken != "" {
		err = o.issuer.revoke(context.WithoutCancel(r.Context()), session.RefreshToken)
	}
	if err != nil {
		klog.FromContext(r.Context()).Error(err, "A session ended, but its refresh token was not revoked")
	}
}

// localPath returns a path of this page. Anything that could lead to another host becomes the start page.
func localPath(text string) string {
	to, err := url.Parse(text)
	if err != nil || to.Scheme != "" || to.Host != "" || to.Opaque != "" || len(text) > maxReturn {
		return "/"
	}
	return (&url.URL{Path: path.Clean("/" + to.Path), RawQuery: to.RawQuery}).String()
}
