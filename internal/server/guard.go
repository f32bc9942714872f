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

	"github.com/nestor-dev/nestor/internal/listen"
)

// contentSecurityPolicy allows the page to load its own files and to call its own server, and nothing else. The page has no inline
// scripts or styles, and no trusted-types policy, so that text cannot become markup.
const contentSecurityPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; " +
	"manifest-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

var securityHeaders = map[string]string{
	"Content-Security-Policy":      contentSecurityPolicy,
	"X-Content-Type-Options":       "nosniff",
	"X-Frame-Options":              "DENY",
	"Referrer-Policy":              "no-referrer",
	"Cross-Origin-Opener-Policy":   "same-origin",
	"Cross-Origin-Resource-Policy": "same-origin",
	"Permissions-Policy":           "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
	"Cache-Control":                "no-store",
}

// checkOrigin rejects requests with another Host or from another site.
func checkOrigin(hosts []string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for name, value := range securityHeaders {
			w.Header().Set(name, value)
		}
		if len(hosts) > 0 && !slices.Contains(hosts, strings.ToLower(r.Host)) {
			writeError(w, statusError(http.StatusForbidden, metav1.StatusReasonForbidden, "This page is not served under the name "+r.Host+"."))
			return
		}
		if !isSameSite(r) {
			writeError(w, statusError(http.StatusForbidden, metav1.StatusReasonForbidden, "Requests from other sites are refused."))
			return
		}
		next.ServeHTTP(w, r)
	})
}

// isSameSite reports whether the page itself or the person made the request, rather than another site. Browsers send
// Sec-Fetch-Site; older ones send Origin. A program that sends neither has no cookies that another site could abuse.
func isSameSite(r *http.Request) bool {
	switch r.Header.Get("Sec-Fetch-Site") {
	case "same-origin", "none":
		return true
	case "":
		origin := r.Header.Get("Origin")
		return origin == "" || origin == "http://"+r.Host || origin == "https://"+r.Host
	}
	// A link on another site may open the page, but nothing else.
	return r.Method == http.MethodGet && r.Header.Get("Sec-Fetch-Mode") == "navigate" && !strings.HasPrefix(r.URL.Path, "/api/") && !strings.HasPrefix(r.URL.Path, "/k8s/")
}

// signedIn wraps a handler that needs the identity of the requester.
func (s *site) signedIn(next func(http.ResponseWriter, *http.Request, *rest.Config)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// Also with answers of the API server, which may not accept the identity.
		w.Header().Set("Nestor-Sign-In", s.identity.SignIn())
		config, err := s.identity.Config(r)
		if problem := signInProblem(""); errors.As(err, &problem) {
			writeError(w, apierrors.NewUnauthorized(problem.Error()))
			return
		}
		if errors.Is(err, ErrSignedOut) {
			writeError(w, apierrors.NewUnauthorized("Sign in to continue."))
			return
		}
		if err == nil && r.ContentLength != 0 { // a body is read only for people whom the API server accepts
			if _, err = s.authenticate(r.Context(), config); err == nil {
				err = listen.ReadBody(w, r, maxBody, listen.BodyTimeout)
			}
		}
		if err != nil {
			writeError(w, err)
			return
		}
		next(w, r, config)
	})
}
