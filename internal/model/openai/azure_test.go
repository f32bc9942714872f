// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package openai_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/nestor-dev/nestor/internal/model/conformance"
	"github.com/nestor-dev/nestor/internal/model/openai"
	"github.com/nestor-dev/nestor/internal/model/wire"
)

// recordingTransport answers every request and records the last one.
type recordingTransport struct{ last *http.Request }

func (r *recordingTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	r.last = req
	body := `{"object":"list","data":[],"choices":[{"message":{"content":"Three."},"finish_reason":"stop"}]}`
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body)), Request: req}, nil
}

// TestAzure checks the paths and headers of requests to Azure, and that other hosts get neither.
func TestAzure(t *testing.T) {
	const token = "eyJhbGciOiJub25lIn0.e30.c2ln"
	for name, tc := range map[string]struct {
		base, key                     string
		call, models, header, bearing string
	}{
		"a deployment": {"https://r.openai.azure.com/openai/deployments/d?api-version=2024-10-21", "0123456789",
			"/openai/deployments/d/chat/completions?api-version=2024-10-21", "/openai/models?api-version=2024-10-21", "0123456789", ""},
		"the v1 API":              {"https://r.openai.azure.com/openai/v1", "0123456789", "/openai/v1/chat/completions", "/openai/v1/models", "0123456789", ""},
		"a token of an identity":  {"https://r.services.ai.azure.com/openai/v1", token, "/openai/v1/chat/completions", "/openai/v1/models", "", "Bearer " + token},
		"a host that looks alike": {"https://openai.azure.com.example.com/v1", "0123456789", "/v1/chat/completions", "/v1/models", "", "Bearer 0123456789"},
	} {
		t.Run(name, func(t *testing.T) {
			sent := &recordingTransport{}
			client, err := openai.NewClient(wire.Endpoint{BaseURL: tc.base, HTTPClient: wire.NewHTTPClient(sent), Key: func(context.Context) (string, error) { return tc.key, nil }})
			if err != nil {
				t.Fatal(err)
			}
			check := func(path string) {
				t.Helper()
				if got := sent.last.URL.RequestURI(); got != path {
					t.Errorf("the path is %s, want %s", got, path)
				}
				if got := sent.last.Header; got.Get("api-key") != tc.header || got.Get("Authorization") != tc.bearing {
					t.Errorf("%s has api-key %q and Authorization %q", path, got.Get("api-key"), got.Get("Authorization"))
				}
			}
			if _, err := client.Complete(t.Context(), conformance.Question(), nil); err != nil {
				t.Fatal(err)
			}
			check(tc.call)
			if _, err := client.Models(t.Context()); err != nil {
				t.Fatal(err)
			}
			check(tc.models)
		})
	}
}
