// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package listen

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

const (
	// BodyTimeout limits how long a client may take to send the body of a request.
	BodyTimeout = time.Minute
	// writeTimeout limits how long a client may take to read what was sent.
	writeTimeout = 30 * time.Second
	// lingerTimeout limits how long the rest of a body is received after the response. A connection that is closed
	// before that is reset, and its client may lose the response.
	lingerTimeout = time.Second
)

// WithDeadlines ends connections whose client does not read the response or is slow to send a body. After the response
// to a request whose body was not read to its end, the connection is closed: the server would otherwise wait for the
// rest of the body before it responds, and once more before it closes the connection. [Server] does this for its handler.
func WithDeadlines(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		e := &exchange{ResponseWriter: w, control: http.NewResponseController(w)}
		if r.ContentLength == 0 {
			e.received.Store(true)
		} else {
			e.readWithin(BodyTimeout)
			// A copy: after the response, the server receives the rest of the body of its own request. With another body in
			// that, the connection would be reset before the client can read the response.
			r = r.WithContext(r.Context())
			r.Body = &body{r.Body, e}
		}
		next.ServeHTTP(e, r)
		e.beforeWrite() // the server sends what it has buffered
		if !e.received.Load() {
			e.readWithin(lingerTimeout)
		}
	})
}

// exchange is a request and its response. A limit for the whole response would end streams, and a limit of the server
// for reading would end requests that wait for a run.
type exchange struct {
	http.ResponseWriter
	control *http.ResponseController
	// received reports that the body was read to its end.
	received atomic.Bool
}

// Not all connections have deadlines: errors of setting them are ignored.

func (e *exchange) readWithin(limit time.Duration) {
	_ = e.control.SetReadDeadline(time.Now().Add(limit))
}

func (e *exchange) writeWithin(limit time.Duration) {
	_ = e.control.SetWriteDeadline(time.Now().Add(limit))
}

func (e *exchange) beforeWrite() {
	e.writeWithin(writeTimeout)
	if !e.received.Load() {
		e.Header().Set("Connection", "close")
	}
}

func (e *exchange) WriteHeader(code int) {
	e.beforeWrite()
	e.ResponseWriter.WriteHeader(code)
}

func (e *exchange) Write(text []byte) (int, error) {
	e.beforeWrite()
	return e.ResponseWriter.Write(text)
}

// FlushError implements the interface that http.ResponseController uses.
func (e *exchange) FlushError() error {
	e.beforeWrite()
	return e.control.Flush()
}

func (e *exchange) Flush() { _ = e.FlushError() }

// Unwrap gives http.ResponseController the writer below.
func (e *exchange) Unwrap() http.ResponseWriter { return e.ResponseWriter }

// body is the body of a request, which detects its end.
type body struct {
	io.ReadCloser
	exchange *exchange
}

func (b *body) Read(p []byte) (int, error) {
	b.exchange.writeWithin(writeTimeout) // the server may send 100 Continue, and the previous response has left its deadline
	n, err := b.ReadCloser.Read(p)
	if err == io.EOF && !b.exchange.received.Swap(true) {
		_ = b.exchange.control.SetReadDeadline(time.Time{})
	}
	return n, err
}

// ReadBody reads the body of a request, within limits of size and time, and replaces it by what was read.
func ReadBody(w http.ResponseWriter, r *http.Request, limit int64, timeout time.Duration) error {
	if r.ContentLength > limit {
		return &http.MaxBytesError{Limit: limit} // clients that wait for 100 Continue get the response
	}
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(timeout))
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	var tooLarge *http.MaxBytesError
	if err != nil && !errors.As(err, &tooLarge) {
		return apierrors.NewTimeoutError("the body of the request was not received in time", 0)
	}
	if err != nil {
		return err
	}
	r.Body = io.NopCloser(bytes.NewReader(text))
	return nil
}
