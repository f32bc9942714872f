// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package hooks

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/nestor-dev/nestor/api/v1alpha1"
	"github.com/nestor-dev/nestor/internal/gateway"
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

// retryAfter is when a sender should try again, in seconds.
const retryAfter = 2

// Triggers are the triggers of the cluster.
type Triggers interface {
	// Trigger returns a trigger, or a NotFound error.
	Trigger(ctx context.Context, name types.NamespacedName) (*v1alpha1.AgentTrigger, error)
	// Secret returns the value of a key of a Secret. The error is for people and has no secrets.
	Secret(ctx context.Context, namespace string, ref v1alpha1.SecretKeyRef) (string, error)
	// Fire records a firing of the trigger with a UID.
	Fire(ctx context.Context, name types.NamespacedName, uid types.UID, f trigger.Firing) (trigger.Decision, error)
}

var errTooMany = apierrors.NewTooManyRequests("too many requests at once: try again", retryAfter)

// countedBody counts the bytes of a body, which stay in memory until the request was handled.
type countedBody struct {
	io.ReadCloser
	total    *atomic.Int64
	taken    int64
	exceeded bool
}

// Read implements io.Reader.
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
	triggers Triggers
	requests *streams.Limiter
	now      func() time.Time
	// buffered is the number of bytes of all bodies.
	buffered atomic.Int64
	// unknown is the secret of triggers that have none. No sender has it.
	unknown string
}

// New returns the door.
func New(triggers Triggers) gateway.Door {
	limits := streams.Limits{Total: maxRequests, PerUser: maxRequestsOfATrigger}
	return &door{triggers: triggers, requests: streams.NewLimiter(limits), now: time.Now, unknown: rand.Text()}
}

// Name implements gateway.Door.
func (d *door) Name() string { return "hooks" }

// Routes implements gateway.Door.
func (d *door) Routes(mux *gateway.Mux) {
	mux.HandleUnread("POST /hooks/{namespace}/{trigger}", http.HandlerFunc(d.serve))
	mux.HandleUnread("OPTIONS /hooks/{namespace}/{trigger}", http.HandlerFunc(d.permit))
}

// WriteError implements gateway.Door.
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

// response is the response to an accepted request.
type response struct {
	Outcome trigger.Outcome `json:"outcome"`
	// Firing is the id of the firing, and Name the name of its task or message.
	Firing string `json:"firing,omitempty"`
	Name   string `json:"name,omitempty"`
	Reason string `json:"reason,omitempty"`
}

func (d *door) serve(w http.ResponseWriter, r *http.Request) {
	name := types.NamespacedName{Namespace: r.PathValue("namespace"), Name: r.PathValue("trigger")}
	release, err := d.requests.Open(name.String())
	if err != nil {
		d.WriteError(w, errTooMany)
		return
	}
	defer release()
	body := &countedBody{ReadCloser: r.Body, total: &d.buffered}
	defer body.release()
	// A copy: with another body in its own request, the server does not notice that the rest of it was not read, and
	// resets the connection before the sender can read the response.
	r = r.WithContext(r.Context())
	r.Body = body
	found, received, err := d.receive(w, r, name)
	if body.exceeded {
		err = errTooMany
	}
	if err != nil {
		d.WriteError(w, err)
		return
	}
	if received.ping {
		gateway.WriteJSON(w, http.StatusOK, response{Outcome: "Ping"})
		return
	}
	f := trigger.Firing{ID: trigger.WebhookID(received.delivery), Time: d.now()}
	f.Input.Body, f.Input.Headers = received.body, received.headers
	decided, err := d.triggers.Fire(r.Context(), name, found.UID, f)
	if err != nil {
		d.unavailable(w, name, err)
		return
	}
	d.respond(w, f.ID, decided)
}

// respond reports a decision. A status below 300 tells the sender that a repetition would change nothing.
func (d *door) respond(w http.ResponseWriter, id string, decided trigger.Decision) {
	switch decided.Outcome {
	case trigger.Wait:
		d.WriteError(w, unavailable("the trigger has too many firings at once"))
	case trigger.Fired:
		gateway.WriteJSON(w, http.StatusAccepted, response{Outcome: decided.Outcome, Firing: id, Name: decided.Name})
	default:
		gateway.WriteJSON(w, http.StatusOK, response{Outcome: decided.Outcome, Firing: id, Reason: string(decided.Reason)})
	}
}

// unavailable reports that a firing could not be recorded: the sender should try again. The cause is for the operator's log.
func (d *door) unavailable(w http.ResponseWriter, name types.NamespacedName, err error) {
	if errors.Is(err, context.Canceled) {
		return
	}
	ctrl.Log.WithName("gateway").Error(err, "A webhook could not be recorded", "trigger", name)
	d.WriteError(w, unavailable("the firing could not be recorded"))
}

func unavailable(message string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusServiceUnavailable, Reason: metav1.StatusReasonServiceUnavailable, Message: message + ": try again",
		Details: &metav1.StatusDetails{RetryAfterSeconds: retryAfter},
	}}
}

// receive authenticates a request and reads it. All requests that are not authenticated get the same response after the
// same work: a trigger that does not exist, has no webhook or has no Secret is handled as one with a secret that no
// sender has.
func (d *door) receive(w http.ResponseWriter, r *http.Request, name types.NamespacedName) (*v1alpha1.AgentTrigger, *received, error) {
	found, err := d.triggers.Trigger(r.Context(), name)
	if err != nil && !apierrors.IsNotFound(err) {
		return nil, nil, err
	}
	exists := err == nil && found.Spec.Webhook != nil
	if !exists {
		found = &v1alpha1.AgentTrigger{Spec: v1alpha1.AgentTriggerSpec{Webhook: &v1alpha1.TriggerWebhook{}}}
	}
	secret := ""
	if exists {
		secret, err = d.triggers.Secret(r.Context(), found.Namespace, found.Spec.Webhook.SecretKeyRef)
		secret = strings.TrimRight(secret, "\r\n") // of a Secret that was made from a file
	}
	if err != nil || secret == "" {
		secret = d.unknown // the condition of the trigger says what is wrong
	}
	received, err := formatOf(found.Spec.Webhook.Format).receive(w, r, secret, d.now())
	return found, received, err
}
