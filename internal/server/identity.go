// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"errors"
	"net/http"

	"k8s.io/client-go/rest"
)

// Identity determines the identity with which requests act.
type Identity interface {
	// Config returns a client configuration with the identity of the requester, or ErrSignedOut.
	Config(r *http.Request) (*rest.Config, error)
	// SignIn returns how a person signs in: SignInLink, SignInToken or SignInOIDC.
	SignIn() string
	// Routes adds the routes for signing in and out.
	Routes(mux *http.ServeMux)
}

// Values of Identity.SignIn.
const (
	// SignInLink: with the link that a command printed.
	SignInLink = "link"
	// SignInToken: with a token of the cluster.
	SignInToken = "token"
	// SignInOIDC: at an OpenID Connect issuer, or with a token of the cluster.
	SignInOIDC = "oidc"
)

// ErrSignedOut means that a request has no identity.
var ErrSignedOut = errors.New("not signed in")

// signInProblem is ErrSignedOut with the reason for which the last attempt to sign in failed.
type signInProblem string

func (p signInProblem) Error() string      { return string(p) }
func (signInProblem) Is(target error) bool { return target == ErrSignedOut }

// sessionSeconds is the lifetime of a cookie. The token in it may expire earlier.
const sessionSeconds = 12 * 60 * 60

// strictCookie returns a cookie that scripts cannot read and that browsers do not send for other sites.
func strictCookie(name, value string, secure bool, maxAge int) *http.Cookie {
	return &http.Cookie{
		Name: name, Value: value, Path: "/", MaxAge: maxAge,
		HttpOnly: true, Secure: secure, SameSite: http.SameSiteStrictMode,
	}
}

// unthrottled returns a copy of config without client-side rate limiting; the API server limits the requests.
func unthrottled(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.QPS = -1
	config.UserAgent = "nestor-web"
	return config
}
