// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nestor-dev/nestor/test/forward"
)

const (
	// maxModelCalls is the provider's limit of concurrent requests in a run with replicas.
	maxModelCalls = 4
	// modelCallTimeout is how long the provider lets a call take. A call of a replica that is suspended, or has lost the
	// ledger, may continue for 5 s before another replica uses its share.
	modelCallTimeout = 4 * time.Second
	// disconnectDelay is how late the provider may notice that a client has given up a call.
	disconnectDelay = 500 * time.Millisecond
)

// modelCounter stands between the replicas and the model, and records when calls begin and end.
type modelCounter struct {
	*httptest.Server

	mu    sync.Mutex
	calls []modelInterval
}

// modelInterval is the time in which a model call was certainly in flight.
type modelInterval struct {
	begin, end time.Time
	// key is the idempotency key, client the address of the replica's connection, and lost reports that the replica ended
	// the call.
	key, client string
	lost        bool
}

func startModelCounter(t *testing.T, model string) *modelCounter {
	target, err := url.Parse(strings.TrimSuffix(model, "/v1"))
	if err != nil {
		t.Fatal(err)
	}
	c := &modelCounter{}
	next := forward.Handler(&httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(target) },
		FlushInterval: -1,
		ErrorHandler:  func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
		ErrorLog:      log.New(io.Discard, "", 0), // failures are intended
	})
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { c.serve(w, r, next) }))
	t.Cleanup(func() {
		c.CloseClientConnections()
		c.Close()
	})
	return c
}

func (c *modelCounter) serve(w http.ResponseWriter, r *http.Request, next http.Handler) {
	if r.Method != http.MethodPost { // a check of the provider's health
		next.ServeHTTP(w, r)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), modelCallTimeout)
	defer cancel()
	call := modelInterval{begin: time.Now(), key: r.Header.Get("Idempotency-Key"), client: r.RemoteAddr}
	written := &lastWrite{ResponseWriter: w}
	defer func() { // even if the model cuts the connection, which panics
		call.end = written.at // the client may begin the next call as soon as it has the end of the reply
		if r.Context().Err() != nil || call.end.IsZero() {
			call.end, call.lost = time.Now().Add(-disconnectDelay), true
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.calls = append(c.calls, call)
	}()
	next.ServeHTTP(written, r.WithContext(ctx))
}

// lastWrite records when the last write began.
type lastWrite struct {
	http.ResponseWriter
	at time.Time
}

// Unwrap lets http.ResponseController find the original.
func (w *lastWrite) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *lastWrite) WriteHeader(status int) {
	w.at = time.Now()
	w.ResponseWriter.WriteHeader(status)
}

func (w *lastWrite) Write(data []byte) (int, error) {
	w.at = time.Now()
	return w.ResponseWriter.Write(data)
}

// peak returns the largest number of calls at a time, and when that was.
func (c *modelCounter) peak() (int, time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return peak(c.calls)
}

// around returns the calls that were in flight at about a time.
func (c *modelCounter) around(at time.Time) []modelInterval {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(c.calls), func(call modelInterval) bool {
		return call.begin.After(at.Add(100*time.Millisecond)) || call.end.Before(at.Add(-100*time.Millisecond))
	})
}

func peak(calls []modelInterval) (most int, at time.Time) {
	type change struct {
		at time.Time
		by int
	}
	var changes []change
	for _, call := range calls {
		if call.end.After(call.begin) {
			changes = append(changes, change{call.begin, 1}, change{call.end, -1})
		}
	}
	slices.SortFunc(changes, func(a, b change) int { return cmp.Or(a.at.Compare(b.at), a.by-b.by) })
	now := 0
	for _, change := range changes {
		if now += change.by; now > most {
			most, at = now, change.at
		}
	}
	return most, at
}

func TestPeak(t *testing.T) {
	at := func(n int) time.Time { return time.Unix(int64(n), 0) }
	var calls []modelInterval
	for _, c := range [][2]int{{1, 4}, {2, 5}, {4, 6}, {3, 4}, {9, 8}} {
		calls = append(calls, modelInterval{begin: at(c[0]), end: at(c[1])})
	}
	if most, when := peak(calls); most != 3 || !when.Equal(at(3)) {
		t.Errorf("the peak is %d at %s", most, when)
	}
}

// checkModelLimit checks that all replicas together never made more calls at a time than the provider permits, and that
// the limit was reached: otherwise the check would mean nothing.
func (w *world) checkModelLimit(context.Context) error {
	most, at := w.fleet.model.peak()
	if most > maxModelCalls {
		var wrong problems
		wrong.add("%d model calls at a time %.3f s after the start, %d are permitted", most, at.Sub(w.settings.begun).Seconds(), maxModelCalls)
		for _, call := range w.fleet.model.around(at) {
			wrong.add("%s from %s: %.3f s to %.3f s, lost: %t", call.key, call.client, call.begin.Sub(w.settings.begun).Seconds(), call.end.Sub(w.settings.begun).Seconds(), call.lost)
		}
		return wrong.err()
	}
	w.logf("at most %d model calls at a time", most)
	if most < maxModelCalls/2 {
		return fmt.Errorf("at most %d model calls at a time, the limit of %d was not tried", most, maxModelCalls)
	}
	return nil
}
