// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package forward

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"strings"
	"testing"
)

// hasty is a server that responds before it has read the end of the request.
type hasty struct{ request *http.Request }

const responseSize = 8 << 10

func (hasty) RoundTrip(r *http.Request) (*http.Response, error) {
	if _, err := io.CopyN(io.Discard, r.Body, r.ContentLength); err != nil {
		return nil, err
	}
	begin := strings.NewReader(strings.Repeat("x", responseSize))
	return &http.Response{StatusCode: http.StatusOK, ContentLength: -1, Body: io.NopCloser(io.MultiReader(begin, hasty{r}))}, nil
}

// Read looks for the end of the request, as a transport does.
func (h hasty) Read([]byte) (int, error) { return h.request.Body.Read(make([]byte, 1)) }

func TestResponseBeginsBeforeRequestEnds(t *testing.T) {
	server := httptest.NewServer(Handler(&httputil.ReverseProxy{Transport: hasty{}, Rewrite: func(*httputil.ProxyRequest) {}}))
	t.Cleanup(server.Close)
	response, err := server.Client().Post(server.URL, "text/plain", strings.NewReader("hello"))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if read, err := io.ReadAll(response.Body); err != nil || len(read) != responseSize {
		t.Errorf("%d bytes arrived: %v", len(read), err)
	}
}
