// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package hooks

import (
	"context"
	"io"
	"net/http"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/nestor-dev/nestor/internal/gateway"
	"github.com/nestor-dev/nestor/internal/intake"
	"github.com/nestor-dev/nestor/internal/listen"
	"github.com/nestor-dev/nestor/internal/streams"
	"github.com/nestor-dev/nestor/internal/trigger"
)

// Limits of the requests in flight. Senders are not authenticated until their body was read, so they get few of the gateway's resources.
const (
	maxRequests           = 1024
	maxRequestsOfATrigger = 16
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

// countedBody counts the bytes of a body, which stay in memory until the request was handled.
type countedBody struct {
	io.ReadCloser
	total    *atomic.Int64
	taken    int64
	exceeded bool
}

func (b *countedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.taken += int64(n)
	if b.total.Add(int64(n)) > maxBuffered {
		b.exceeded = true
		return n, errTooMany
	}
	return n, err
}

func (b *countedBody) release() { b.total.Add(-b.taken) }

type door struct {
	deliveries  Deliveries
	requests    *streams.Limiter
	bodyTimeout time.Duration
	// buffered is the number of bytes of all bodies.
	buffered atomic.Int64
}

func New(deliveries Deliveries) gateway.Door {
	return &door{deliveries: deliveries, bodyTimeout: bodyTimeout, requests: streams.NewLimiter(streams.Limits{Total: maxRequests, PerUser: maxRequestsOfATrigger})}
}

func (d *door) Name() string { return "hooks" }

func (d *door) Routes(mux *gateway.Mux) {
	mux.HandleUnread("POST /hooks/{namespace}/{trigger}", http.HandlerFunc(d.serve))
	mux.HandleUnread("OPTIONS /hooks/{namespace}/{trigger}", http.HandlerFunc(d.permit))
}

func (d *door) WriteError(w http.ResponseWriter, err error) {
	p := gateway.ProblemOf(err)
	p.WriteHeaders(w)
	gateway.WriteJSON(w, p.Code, map[string]string{"error": p.Message})
}

// permit responds to the handshake of CloudEvents, with which a sender asks whether it may send events to a URL. The
// response is the same for all triggers and for none: the handshake keeps senders from being used against others, and
// each event is authenticated.
func (d *door) permit(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Allow", "POST, OPTIONS")
	if origin := r.Header.Get("WebHook-Request-Origin"); origin != "" {
		w.Header().Set("WebHook-Allowed-Origin", origin)
		w.Header().Set("WebHook-Allowed-Rate", "*")
	}
	w.WriteHeader(http.StatusOK)
}

func (d *door) serve(w http.ResponseWriter, r *http.Request) {
	sent := intake.Webhook{Namespace: r.PathValue("namespace"), Trigger: r.PathValue("trigger"), Header: r.Header}
	release, err := d.requests.Open(sent.Namespace + "/" + sent.Trigger)
	if err != nil {
		d.WriteError(w, errTooMany)
		return
	}
	defer release()
	body := &countedBody{ReadCloser: r.Body, total: &d.buffered}
	defer body.release()
	sent.Body, err = d.read(w, r, body)
	if err != nil {
		d.WriteError(w, err)
		return
	}
	receipt, err := d.deliveries.Deliver(r.Context(), sent)
	if err != nil {
		d.WriteError(w, err)
		return
	}
	code := http.StatusOK
	if receipt.Outcome == trigger.Fired {
		code = http.StatusAccepted
	}
	gateway.WriteJSON(w, code, receipt)
}

// read reads a body. A request that has neither a token nor a signature is refused before that.
func (d *door) read(w http.ResponseWriter, r *http.Request, body *countedBody) ([]byte, error) {
	if r.Header.Get("Authorization") == "" && !intake.IsSigned(r.Header) {
		return nil, intake.ErrUnauthorized
	}
	// A copy: with another body in its own request, the server does not notice that the rest of it was not read, and
	// resets the connection before the sender can read the response.
	r = r.WithContext(r.Context())
	r.Body = body
	err := listen.ReadBody(w, r, gateway.MaxBody, d.bodyTimeout)
	if body.exceeded {
		return nil, errTooMany
	}
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r.Body)
}
