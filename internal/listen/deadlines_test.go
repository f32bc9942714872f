// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package listen

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// pipes is a listener in memory, so that time can be simulated. It accepts the connections that are sent to it.
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
func (pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)} }

// withServer calls test with a function that connects to a server of the handler.
func withServer(t *testing.T, handler http.HandlerFunc, test func(t *testing.T, dial func() net.Conn)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		network, ended := make(pipes), make(chan struct{})
		ctx, stop := context.WithCancel(t.Context())
		go func() {
			defer close(ended)
			_ = Server{Listener: network, Handler: handler}.Start(ctx)
		}()
		var conns []net.Conn
		defer func() {
			for _, conn := range conns {
				_ = conn.Close()
			}
			stop()
			<-ended // the server waits for its connections, and time ends with this function
		}()
		test(t, func() net.Conn {
			conn, accepted := net.Pipe()
			network <- accepted
			conns = append(conns, conn)
			return conn
		})
	})
}

// exchangeOn sends text on a connection, and returns the response.
func exchangeOn(t *testing.T, conn net.Conn, text string) string {
	t.Helper()
	go func() { _, _ = io.WriteString(conn, text) }() // the server may not read all of it
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(response.StatusCode, " ", string(body))
}

// TestSlowBodiesEnd: a handler that reads a body gets an error if the rest of it does not arrive, with ReadBody or
// without, and may take any time when it has the whole body.
func TestSlowBodiesEnd(t *testing.T) {
	for name, read := range map[string]func(w http.ResponseWriter, r *http.Request) error{
		"ReadBody": func(w http.ResponseWriter, r *http.Request) error { return ReadBody(w, r, 100, BodyTimeout) },
		"a library": func(_ http.ResponseWriter, r *http.Request) error {
			_, err := io.ReadAll(r.Body)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			handler := func(w http.ResponseWriter, r *http.Request) {
				if err := read(w, r); err != nil {
					http.Error(w, "no body", http.StatusBadRequest)
					return
				}
				select {
				case <-r.Context().Done():
					w.WriteHeader(http.StatusInternalServerError)
				case <-time.After(5 * BodyTimeout):
				}
			}
			withServer(t, handler, func(t *testing.T, dial func() net.Conn) {
				const post = "POST / HTTP/1.1\r\nHost: test\r\n"
				for request, want := range map[string]string{
					"Content-Length: 5\r\n\r\nwhole":                            "200 ",
					"Transfer-Encoding: chunked\r\n\r\n5\r\nwhole\r\n0\r\n\r\n": "200 ",
					"Content-Length: 9\r\n\r\nhalf":                             "400 no body\n",
					"Transfer-Encoding: chunked\r\n\r\n9\r\nhalf":               "400 no body\n",
				} {
					if got := exchangeOn(t, dial(), post+request); got != want {
						t.Errorf("%q got %q", request, got)
					}
				}
			})
		})
	}
}

func TestReadBodyDescribesErrors(t *testing.T) {
	problems := make(chan error, 1)
	handler := func(w http.ResponseWriter, r *http.Request) { problems <- ReadBody(w, r, 10, time.Second) }
	withServer(t, handler, func(t *testing.T, dial func() net.Conn) {
		exchangeOn(t, dial(), "POST / HTTP/1.1\r\nHost: test\r\nContent-Length: 9\r\n\r\nhalf")
		if err := <-problems; !apierrors.IsTimeout(err) {
			t.Errorf("half a body: %v", err)
		}
		exchangeOn(t, dial(), "POST / HTTP/1.1\r\nHost: test\r\nContent-Length: 11\r\n\r\nhalf")
		var tooLarge *http.MaxBytesError
		if err := <-problems; !errors.As(err, &tooLarge) {
			t.Errorf("a large body: %v", err)
		}
	})
}

// TestUnreadBodiesAreNotAwaited: the response arrives although the rest of the body never follows, and the connection
// ends, even if the handler wants to keep it.
func TestUnreadBodiesAreNotAwaited(t *testing.T) {
	handler := func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Connection", "keep-alive") }
	withServer(t, handler, func(t *testing.T, dial func() net.Conn) {
		conn := dial()
		began := time.Now()
		exchangeOn(t, conn, "POST / HTTP/1.1\r\nHost: test\r\nContent-Length: 9\r\n\r\nhalf")
		if rest, err := io.ReadAll(conn); err != nil || len(rest) > 0 || time.Since(began) > 2*lingerTimeout {
			t.Errorf("the connection ends after %v: %v, %q", time.Since(began), err, rest)
		}
	})
}

// TestIdleConnectionsAreUsable: the deadline of a response does not stop the server's 100 Continue of the next request.
func TestIdleConnectionsAreUsable(t *testing.T) {
	handler := func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) }
	withServer(t, handler, func(t *testing.T, dial func() net.Conn) {
		conn := dial()
		if got := exchangeOn(t, conn, "GET / HTTP/1.1\r\nHost: test\r\n\r\n"); got != "200 " {
			t.Error(got)
		}
		<-time.After(2 * writeTimeout)
		const request = "POST / HTTP/1.1\r\nHost: test\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\nfour"
		if got := exchangeOn(t, conn, request); got != "100 " {
			t.Error(got)
		}
	})
}

// TestDeafClientsAreCut: a client that reads nothing does not keep its connection.
func TestDeafClientsAreCut(t *testing.T) {
	long := strings.Repeat("a", 1<<20)
	for name, handler := range map[string]http.HandlerFunc{
		"a long response":  func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, long) },
		"a short response": func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "short") },
		"no response":      func(http.ResponseWriter, *http.Request) {},
		"a stream": func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil && http.NewResponseController(w).Flush() == nil {
				_, _ = io.WriteString(w, long)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			withServer(t, handler, func(t *testing.T, dial func() net.Conn) {
				conn := dial()
				if _, err := io.WriteString(conn, "GET / HTTP/1.1\r\nHost: test\r\n\r\n"); err != nil {
					t.Fatal(err)
				}
				<-time.After(2 * writeTimeout)
				if n, err := conn.Read(make([]byte, 1)); err != io.EOF { //nolint:errorlint // it is never wrapped
					t.Errorf("the connection is open: %d, %v", n, err)
				}
			})
		})
	}
}
