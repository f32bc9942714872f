// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// policy lets the page load its own files, talk to its own server, and nothing else. No script or style stands in the page
// itself, and no text can become markup: there is no trusted-types policy that would allow it.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; " +
	"manifest-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

var securityHeaders = map[string]string{
	"Content-Security-Policy":      policy,
	"X-Content-Type-Options":       "nosniff",
	"X-Frame-Options":              "DENY",
	"Referrer-Policy":              "no-referrer",
	"Cross-Origin-Opener-Policy":   "same-origin",
	"Cross-Origin-Resource-Policy": "same-origin",
	"Permissions-Policy":           "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
	"Cache-Control":                "no-store",
}

// guard refuses requests that come by another name or from another site.
func guard(hosts []string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for name, value := range securityHeaders {
			w.Header().Set(name, value)
		}
		if len(hosts) > 0 && !slices.Contains(hosts, strings.ToLower(r.Host)) {
			refuse(w, said(http.StatusForbidden, metav1.StatusReasonForbidden, "This page is not served under the name "+r.Host+"."))
			return
		}
		if !ownRequest(r) {
			refuse(w, said(http.StatusForbidden, metav1.StatusReasonForbidden, "Requests from other sites are refused."))
			return
		}
		next.ServeHTTP(w, r)
	})
}

// ownRequest tells whether the page itself, or the person, made the request, and no other site. Browsers say so in
// Sec-Fetch-Site; older ones send Origin. A program that sends neither has no cookies that somebody else could use.
func ownRequest(r *http.Request) bool {
	switch r.Header.Get("Sec-Fetch-Site") {
	case "same-origin", "none":
		return true
	case "":
		origin := r.Header.Get("Origin")
		return origin == "" || origin == "http://"+r.Host || origin == "https://"+r.Host
	}
	// A link on another site may open the page, but do nothing else.
	return r.Method == http.MethodGet && r.Header.Get("Sec-Fetch-Mode") == "navigate" && !strings.HasPrefix(r.URL.Path, "/api/") && !strings.HasPrefix(r.URL.Path, "/k8s/")
}

// signedIn gives a handler the identity of the one who sent the request.
func (s *site) signedIn(next func(http.ResponseWriter, *http.Request, *rest.Config)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		config, err := s.identity.Config(r)
		if errors.Is(err, ErrSignedOut) {
			w.Header().Set("Nestor-Sign-In", s.identity.SignIn())
			refuse(w, apierrors.NewUnauthorized("Sign in to go on."))
			return
		}
		if err != nil {
			refuse(w, err)
			return
		}
		next(w, r, config)
	})
}
