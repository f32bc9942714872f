// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

// TestSlowRunsAreNotCut waits in a handler for longer than a client may take to send its request. Its network is in memory, so its time can be simulated.
func TestSlowRunsAreNotCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const limit = time.Minute
		network := make(pipes)
		server := &http.Server{ReadHeaderTimeout: limit, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
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
		})}
		go func() { _ = server.Serve(network) }()
		defer func() { _ = server.Close() }()
		send := func(length int, body string) string {
			conn, accepted := net.Pipe()
			network <- accepted
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
	})
}

// pipes is a listener that accepts the connections that are sent to it.
type pipes chan net.Conn

// Accept implements net.Listener.
func (p pipes) Accept() (net.Conn, error) {
	if conn, ok := <-p; ok {
		return conn, nil
	}
	return nil, net.ErrClosed
}

// Close implements net.Listener.
func (p pipes) Close() error {
	close(p)
	return nil
}

// Addr implements net.Listener.
func (pipes) Addr() net.Addr { return &net.TCPAddr{} }
