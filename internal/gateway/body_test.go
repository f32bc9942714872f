// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// TestSlowRunsAreNotCut waits in a handler for longer than a client may take to send its request.
func TestSlowRunsAreNotCut(t *testing.T) {
	const limit = 50 * time.Millisecond
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := ReadBody(w, r, limit); err != nil {
			WriteJSON(w, ProblemOf(err).Code, err.Error())
			return
		}
		select {
		case <-r.Context().Done():
			w.WriteHeader(http.StatusInternalServerError)
		case <-time.After(5 * limit):
			_, _ = io.Copy(w, r.Body)
		}
	}))
	defer server.Close()
	send := func(length int, body string) string {
		conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", server.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
		if _, err := fmt.Fprintf(conn, "POST / HTTP/1.1\r\nHost: test\r\nContent-Length: %d\r\n\r\n%s", length, body); err != nil {
			t.Fatal(err)
		}
		response, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = response.Body.Close() }()
		text, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(response.StatusCode, " ", string(text))
	}
	if got := send(5, "whole"); got != "200 whole" {
		t.Errorf("a whole request got %s", got)
	}
	if got := send(9, "half"); got != `504 "Timeout: the body of the request was not received in time"` {
		t.Errorf("half a request got %s", got)
	}
}
