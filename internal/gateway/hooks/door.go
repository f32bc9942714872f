// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package hooks

import (
	"container/list"
	"context"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/nestor-dev/nestor/internal/gateway"
	"github.com/nestor-dev/nestor/internal/intake"
	"github.com/nestor-dev/nestor/internal/listen"
	"github.com/nestor-dev/nestor/internal/streams"
	"github.com/nestor-dev/nestor/internal/trigger"
)

// Limits of the requests in flight. Senders are not authenticated until their body was read, so they get few of the
// gateway's resources.
const (
	maxRequests           = 1024
	maxRequestsOfATrigger = 16
	// maxSenders bounds the bodies that are being received. It is less than maxRequests, so that slow senders never
	// use all requests.
	maxSenders = 512
	// maxBuffered bounds the bytes of all bodies that are being received or handled.
	maxBuffered = 256 << 20
	// bodyTimeout limits how long a sender may take to send the body of a request.
	bodyTimeout = 10 * time.Second
)

// Deliveries takes the webhooks that the door has received.
type Deliveries interface {
	// Deliver authenticates a webhook and fires its trigger.
	Deliver(ctx context.Context, sent intake.Webhook) (intake.Receipt, error)
}

var errTooMany = apierrors.NewTooManyRequests("too many requests at once: try again", intake.RetryAfter)

// countedBody counts the bytes of a body, which stay in memory until the request is handled.
type countedBody struct {
	io.ReadCloser
	senders *senders
	taken   int64
}

func (b *countedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.taken += int64(n)
	if b.senders.buffered.Add(int64(n)) > maxBuffered {
		b.senders.stopOldest()
	}
	return n, err
}

func (b *countedBody) release() { b.senders.buffered.Add(-b.taken) }

// senders are those whose bodies are being received. When there are too many senders or bytes, the oldest sender is
// stopped, whatever its trigger: an attacker can name any number of triggers.
type senders struct {
	// buffered is the number of bytes of all bodies.
	buffered atomic.Int64

	mu sync.Mutex
	// stops has functions that stop a sender, the oldest first.
	stops list.List
}

// begin adds a sender until end is called.
func (s *senders) begin(stop func()) (end func()) {
	s.mu.Lock()
	element := s.stops.PushBack(stop)
	exceeded := s.stops.Len() > maxSenders
	s.mu.Unlock()
	if exceeded {
		s.stopOldest()
	}
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.stops.Remove(element)
	}
}

func (s *senders) stopOldest() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if oldest := s.stops.Front(); oldest != nil {
		s.stops.Remove(oldest).(func())()
	}
}

type door struct {
	deliveries  Deliveries
	requests    *streams.Limiter
	senders     senders
	bodyTimeout time.Duration
}

func New(deliveries Deliveries) gateway.Door {
	return &door{deliveries: deliveries, bodyTimeout: bodyTimeout, requests: streams.NewLimiter(streams.Limits{Total: maxRequests, PerUser: maxRequestsOfATrigger})}
}

func (d *door) Name() string { return "hooks" }

func (d *door) Routes(mux *gateway.Mux) {
	mux.HandleUnread("POST /hooks/{namespace}/{trigger}", d.serve)
	mux.HandleUnread("OPTIONS /hooks/{namespace}/{trigger}", d.permit)
}

func (d *door) WriteError(w http.ResponseWriter, err error) {
	p := gateway.ProblemOf(err)
	p.WriteHeaders(w)
	gateway.WriteJSON(w, p.Code, map[string]string{"error": p.Message})
}

// permit responds to the handshake of CloudEvents, by which a sender asks for permission to send events to a URL. The
// response does not depend on the trigger, because each event is authenticated anyway.
func (d *door) permit(w http.ResponseWriter, r *http.Request) error {
	w.Header().Set("Allow", "POST, OPTIONS")
	if origin := r.Header.Get("WebHook-Request-Origin"); origin != "" {
		w.Header().Set("WebHook-Allowed-Origin", origin)
		w.Header().Set("WebHook-Allowed-Rate", "*")
	}
	w.WriteHeader(http.StatusOK)
	return nil
}

func (d *door) serve(w http.ResponseWriter, r *http.Request) error {
	sent := intake.Webhook{Namespace: r.PathValue("namespace"), Trigger: r.PathValue("trigger"), Header: r.Header}
	release, err := d.requests.Open(sent.Namespace + "/" + sent.Trigger)
	if err != nil {
		return errTooMany
	}
	defer release()
	body := &countedBody{ReadCloser: r.Body, senders: &d.senders}
	defer body.release()
	if sent.Body, err = d.read(w, r, body); err != nil {
		return err
	}
	receipt, err := d.deliveries.Deliver(r.Context(), sent)
	if err != nil {
		return err
	}
	code := http.StatusOK
	if receipt.Outcome == trigger.Fired {
		code = http.StatusAccepted
	}
	gateway.WriteJSON(w, code, receipt)
	return nil
}

// read reads a body. A request that has neither a token nor a signature is refused before that.
func (d *door) read(w http.ResponseWriter, r *http.Request, body *countedBody) ([]byte, error) {
	if r.Header.Get("Authorization") == "" && !intake.IsSigned(r.Header) {
		return nil, intake.ErrUnauthorized
	}
	control := http.NewResponseController(w)
	end := d.senders.begin(func() { _ = control.SetReadDeadline(time.Now()) }) // not all connections have deadlines
	defer end()
	r.Body = body
	if err := listen.ReadBody(w, r, gateway.MaxBody, d.bodyTimeout); err != nil {
		return nil, err
	}
	return io.ReadAll(r.Body)
}
