// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"net/http"
	"path"
	"strings"

	"k8s.io/client-go/rest"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/kubewrites"
)

// limitWrites bounds the writes of Nestor's objects in flight from clients with this configuration; 0 adapts to the API
// server.
func limitWrites(config *rest.Config, limit int) *kubewrites.Gate {
	gate := kubewrites.Adaptive()
	if limit > 0 {
		gate = kubewrites.Fixed(limit)
	}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return limitedTransport{next, gate} })
	return gate
}

// limitedTransport sends writes of Nestor's objects through a gate; see package kubewrites. Reads, leases and Events
// bypass it.
type limitedTransport struct {
	next http.RoundTripper
	gate *kubewrites.Gate
}

func (f limitedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodGet || !strings.Contains(r.URL.Path, "/apis/"+v1beta1.GroupVersion.Group+"/") {
		return f.next.RoundTrip(r)
	}
	sent := false
	response, err := f.gate.Do(r.Context(), writeKind(r), func() (*http.Response, error) {
		sent = true
		return f.next.RoundTrip(r)
	})
	if !sent && r.Body != nil { // a RoundTripper must always close the body
		_ = r.Body.Close()
	}
	return response, err
}

// writeKind returns the kind of a write: creating a task or a sub-agent starts work, and all others write results.
func writeKind(r *http.Request) kubewrites.Kind {
	kind := path.Base(r.URL.Path)
	if r.Method == http.MethodPost && (kind == "agenttasks" || kind == "subagents") {
		return kubewrites.Start
	}
	return kubewrites.Result
}
