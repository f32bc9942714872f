// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/nestor-dev/nestor/internal/listen"
	"github.com/nestor-dev/nestor/internal/streams"
)

func (g *gate) dial(t *testing.T) net.Conn {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", g.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// The rest of the body never follows, and still the response arrives and the connection ends.
func TestRefusedBody_NotRead(t *testing.T) {
	const sizeRequest = "POST /size HTTP/1.1\r\nContent-Length: 100\r\n"
	g := newGate(t, streams.Limits{})
	for _, test := range []struct {
		name, request string
		want          int
	}{
		{"no token", sizeRequest, http.StatusUnauthorized},
		{"an invalid token", sizeRequest + "Authorization: Bearer no\r\n", http.StatusUnauthorized},
		{"chunks", "POST /size HTTP/1.1\r\nTransfer-Encoding: chunked\r\n", http.StatusUnauthorized},
		{"an unknown path", "POST /unknown HTTP/1.1\r\nContent-Length: 100\r\n", http.StatusNotFound},
		{"the front page", "GET / HTTP/1.1\r\nContent-Length: 100\r\n", http.StatusOK},
		{"another method", "PUT /size HTTP/1.1\r\nContent-Length: 100\r\n", http.StatusNotFound},
		{"another site", sizeRequest + "Origin: https://other.example\r\n", http.StatusForbidden},
		{"a large body", "POST /size HTTP/1.1\r\nContent-Length: 9999999\r\n", http.StatusUnauthorized},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			conn := g.dial(t)
			if err := conn.SetDeadline(time.Now().Add(listen.BodyTimeout / 2)); err != nil { // it is reached only if the test fails
				t.Fatal(err)
			}
			if _, err := io.WriteString(conn, test.request+"Host: test\r\n\r\n4\r\nhalf"); err != nil {
				t.Fatal(err)
			}
			reader := bufio.NewReader(conn)
			response, err := http.ReadResponse(reader, nil)
			if err != nil {
				t.Fatal(err)
			}
			_, _ = io.Copy(io.Discard, response.Body)
			_ = response.Body.Close()
			if response.StatusCode != test.want || !response.Close {
				t.Errorf("got %s, closed: %v", response.Status, response.Close)
			}
			if rest, err := io.ReadAll(reader); err != nil || len(rest) > 0 {
				t.Errorf("the connection does not end: %v, %q", err, rest)
			}
		})
	}
}

// A connection that is closed before the server has received the whole body is reset, and the client may lose the
// response.
func TestRefusedClient_NotReset(t *testing.T) {
	conn := newGate(t, streams.Limits{}).dial(t)
	body := strings.Repeat("x", 100<<10)
	if _, err := fmt.Fprintf(conn, "POST /size HTTP/1.1\r\nHost: test\r\nContent-Length: %d\r\n\r\n%s", len(body), body); err != nil {
		t.Fatal(err)
	}
	if response, err := io.ReadAll(conn); err != nil || !strings.HasPrefix(string(response), "HTTP/1.1 401 ") {
		t.Errorf("%.40q, %v", response, err)
	}
}

func TestConnection_ReusedAfterReadBody(t *testing.T) {
	conn := newGate(t, streams.Limits{}).dial(t)
	reader := bufio.NewReader(conn)
	for range 3 {
		const request = "POST /size HTTP/1.1\r\nHost: test\r\nContent-Length: 4\r\n" +
			"Authorization: Bearer " + validToken + "\r\n\r\nfour"
		if _, err := io.WriteString(conn, request); err != nil {
			t.Fatal(err)
		}
		response, err := http.ReadResponse(reader, nil)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if err != nil || response.Close || string(body) != "alice 4" {
			t.Fatalf("%s, %q, closed: %v, %v", response.Status, body, response.Close, err)
		}
	}
}
