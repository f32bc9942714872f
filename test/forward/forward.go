// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package forward forwards requests in tests.
package forward

import (
	"net/http"
	"net/http/httputil"
)

// Handler returns a handler that forwards requests with a proxy. Without full duplex a server of HTTP/1 closes the body of
// a request when its response begins; a transport that then looks for the end of the body closes its connection, and the
// response is cut off.
func Handler(proxy *httputil.ReverseProxy) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).EnableFullDuplex() // HTTP/2 has it
		proxy.ServeHTTP(w, r)
	})
}
