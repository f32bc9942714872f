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
	"testing/synctest"
	"time"

	"github.com/nestor-dev/nestor/internal/gateway/run"
	"github.com/nestor-dev/nestor/internal/streams"
)

// TestRefusedBodiesAreNotAwaited sends the beginning of a body. The response arrives and the connection ends, although
// the rest never follows.
func TestRefusedBodiesAreNotAwaited(t *testing.T) {
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
			conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", g.Listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = conn.Close() }()
			if err := conn.SetDeadline(time.Now().Add(bodyTimeout / 2)); err != nil { // it is reached only if the test fails
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

// TestRefusedClientsAreNotReset: a client that has sent its whole body can read the response to the end. A connection
// that is closed before the server has received what was sent is reset, and the response may be lost.
func TestRefusedClientsAreNotReset(t *testing.T) {
	g := newGate(t, streams.Limits{})
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", g.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	body := strings.Repeat("x", 100<<10)
	_, err = fmt.Fprintf(conn, "POST /size HTTP/1.1\r\nHost: test\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	if err != nil {
		t.Fatal(err)
	}
	if response, err := io.ReadAll(conn); err != nil || !strings.HasPrefix(string(response), "HTTP/1.1 401 ") {
		t.Errorf("%.40q, %v", response, err)
	}
}

// TestConnectionsAreKept: the connection of a request whose body was read serves the next one.
func TestConnectionsAreKept(t *testing.T) {
	g := newGate(t, streams.Limits{})
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", g.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
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

// deafDoor sends a long response, in one piece or as events.
type deafDoor struct{ testDoor }

func (deafDoor) Routes(mux *Mux) {
	long := strings.Repeat("a", 1<<20)
	mux.HandlePublic("GET /whole", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		WriteJSON(w, http.StatusOK, long)
	}))
	mux.HandlePublic("GET /events", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		stream := NewEventStream(w)
		defer stream.Close()
		for r.Context().Err() == nil && stream.SendText(long) == nil {
		}
	}))
	mux.HandlePublic("GET /short", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		WriteJSON(w, http.StatusOK, "short")
	}))
}

// TestDeafClientsAreCut: a client that reads nothing does not keep its connection. The network is in memory, so the
// time is simulated.
func TestDeafClientsAreCut(t *testing.T) {
	for _, path := range []string{"/whole", "/events", "/short"} {
		t.Run(path, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				network := make(pipes)
				closed := make(chan struct{})
				server := &http.Server{
					ReadHeaderTimeout: time.Minute, Handler: New(Options{Callers: &run.Connector{}, Doors: []Door{deafDoor{}}}),
					ConnState: func(_ net.Conn, state http.ConnState) {
						if state == http.StateClosed {
							close(closed)
						}
					},
				}
				go func() { _ = server.Serve(network) }()
				defer func() { _ = server.Close() }()
				conn, accepted := net.Pipe()
				network <- accepted
				defer func() { _ = conn.Close() }()
				if _, err := fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: test\r\n\r\n", path); err != nil {
					t.Fatal(err)
				}
				began := time.Now()
				<-closed
				if took := time.Since(began); took > 2*writeTimeout {
					t.Errorf("the connection was closed after %v", took)
				}
			})
		})
	}
}
