// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/nestor-dev/nestor/internal/model/scripted"
)

// recordedModel is a scripted model in this process that records when each request arrived and ended, and its tokens.
type recordedModel struct {
	model *scripted.Server

	mu       sync.Mutex
	requests []*recordedRequest
	inFlight int
}

type recordedRequest struct {
	began, ended time.Time
	tokens       int64
	// call is the idempotency key, and so the call: a call that is made twice has two requests with it.
	call string
}

// serveRecorded runs a model with a script until the harness stops, and returns its URL.
func serveRecorded(r *harness, script string) (*recordedModel, string, error) {
	parsed, err := scripted.Parse("bench", []byte(script))
	if err != nil {
		return nil, "", err
	}
	m := &recordedModel{model: scripted.NewServer(scripted.Options{Scripts: []*scripted.Script{parsed}, Lenient: true, RecordLimit: -1})}
	listener, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, "", fmt.Errorf("listen: %w", err)
	}
	server := &http.Server{Handler: m, ReadHeaderTimeout: 10 * time.Second}
	r.cleanups = append(r.cleanups, server.Close)
	go func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			r.logf("  a model ended: %s", err)
		}
	}()
	return m, "http://" + listener.Addr().String() + "/v1", nil
}

// ServeHTTP implements http.Handler.
func (m *recordedModel) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	if request.Method != http.MethodPost {
		m.model.ServeHTTP(w, request)
		return
	}
	recorded := &recordedRequest{began: time.Now(), call: request.Header.Get("Idempotency-Key")}
	m.mu.Lock()
	m.requests = append(m.requests, recorded)
	m.inFlight++
	m.mu.Unlock()
	counted := &tokenCounter{ResponseWriter: w}
	m.model.ServeHTTP(counted, request)
	m.mu.Lock()
	defer m.mu.Unlock()
	recorded.ended, recorded.tokens = time.Now(), counted.tokens
	m.inFlight--
}

// tokenCounter reads the usage from a response.
type tokenCounter struct {
	http.ResponseWriter

	tokens int64
}

var totalTokens = regexp.MustCompile(`"total_tokens": ?(\d+)`)

// Write implements io.Writer. The scripted model writes each chunk of a stream at once.
func (c *tokenCounter) Write(text []byte) (int, error) {
	if found := totalTokens.FindSubmatch(text); found != nil {
		c.tokens, _ = strconv.ParseInt(string(found[1]), 10, 64)
	}
	return c.ResponseWriter.Write(text)
}

// Unwrap lets http.ResponseController flush the response.
func (c *tokenCounter) Unwrap() http.ResponseWriter { return c.ResponseWriter }

// Flush implements http.Flusher.
func (c *tokenCounter) Flush() { _ = http.NewResponseController(c.ResponseWriter).Flush() }

// active returns the number of requests in flight.
func (m *recordedModel) active() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.inFlight
}

// ended returns the requests that have ended, in order of arrival.
func (m *recordedModel) ended() []recordedRequest {
	m.mu.Lock()
	defer m.mu.Unlock()
	var all []recordedRequest
	for _, r := range m.requests {
		if !r.ended.IsZero() {
			all = append(all, *r)
		}
	}
	slices.SortFunc(all, func(a, b recordedRequest) int { return a.began.Compare(b.began) })
	return all
}

// maxConcurrent returns the largest number of requests in flight at a time.
func maxConcurrent(requests []recordedRequest) int {
	type change struct {
		at time.Time
		by int
	}
	var changes []change
	for _, r := range requests {
		changes = append(changes, change{r.began, 1}, change{r.ended, -1})
	}
	slices.SortFunc(changes, func(a, b change) int { return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.by, b.by)) })
	now, most := 0, 0
	for _, c := range changes {
		now += c.by
		most = max(most, now)
	}
	return most
}

// maxInMinute returns the largest sum of the requests that arrived within a minute, which may begin at any time.
func maxInMinute(requests []recordedRequest, amount func(recordedRequest) int64) int64 {
	var sum, most int64
	first := 0
	for _, r := range requests {
		sum += amount(r)
		for r.began.Sub(requests[first].began) >= time.Minute {
			sum -= amount(requests[first])
			first++
		}
		most = max(most, sum)
	}
	return most
}
