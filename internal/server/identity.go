// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"errors"
	"net/http"

	"k8s.io/client-go/rest"
)

// Identity says on whose behalf requests act.
type Identity interface {
	// Config returns how the one who sent the request reaches the API server. It returns ErrSignedOut for nobody.
	Config(r *http.Request) (*rest.Config, error)
	// SignIn says how a person signs in: SignInLink or SignInToken.
	SignIn() string
	// Routes adds what signing in and out needs.
	Routes(mux *http.ServeMux)
}

// How a person signs in.
const (
	// SignInLink: with the link that a command printed.
	SignInLink = "link"
	// SignInToken: with a token of the cluster.
	SignInToken = "token"
)

// ErrSignedOut means that a request carries nobody's identity.
var ErrSignedOut = errors.New("nobody is signed in")

// sessionSeconds is how long a cookie lasts. The token inside may end before.
const sessionSeconds = 12 * 60 * 60

// strictCookie is a cookie that scripts cannot read and other sites cannot make the browser send.
func strictCookie(name, value string, secure bool, maxAge int) *http.Cookie {
	return &http.Cookie{
		Name: name, Value: value, Path: "/", MaxAge: maxAge,
		HttpOnly: true, Secure: secure, SameSite: http.SameSiteStrictMode,
	}
}

// unthrottled is a copy of config for a person's requests: the API server's own fairness limits them.
func unthrottled(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.QPS = -1
	config.UserAgent = "nestor-web"
	return config
}
