// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"net/http"
	"strings"

	"github.com/nestor-dev/nestor/api/v1alpha1"
)

// fewWrites lets only some writes of Nestor's objects be on their way at once. A busy API server would not answer more of them any
// sooner, and whatever shares its processors would wait longer: the turns of the agents that are at work, when it runs beside
// the operator. Reads, leases and Events pass.
type fewWrites struct {
	next  http.RoundTripper
	turns chan struct{}
}

// RoundTrip implements http.RoundTripper.
func (f fewWrites) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodGet || !strings.Contains(r.URL.Path, "/apis/"+v1alpha1.GroupVersion.Group+"/") {
		return f.next.RoundTrip(r)
	}
	select {
	case f.turns <- struct{}{}:
		defer func() { <-f.turns }()
		return f.next.RoundTrip(r)
	case <-r.Context().Done():
		if r.Body != nil { // which a RoundTripper closes, whatever happens
			_ = r.Body.Close()
		}
		return nil, r.Context().Err()
	}
}
