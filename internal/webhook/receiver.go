// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"crypto/rand"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/intake"
	"github.com/nestor-dev/nestor/internal/trigger"
)

// ping is the outcome of a request that only tests the connection.
const ping trigger.Outcome = "Ping"

type Triggers interface {
	// Trigger returns a trigger, or a NotFound error.
	Trigger(ctx context.Context, name types.NamespacedName) (*v1beta1.AgentTrigger, error)
	// Secret returns the value of a key of a Secret. The error is for people and has no secrets.
	Secret(ctx context.Context, namespace string, ref v1beta1.SecretKeyRef) (string, error)
	// Fire records a firing of the trigger with a UID.
	Fire(ctx context.Context, name types.NamespacedName, uid types.UID, f trigger.Firing) (trigger.Decision, error)
}

// Receiver receives webhooks.
type Receiver struct {
	triggers Triggers
	now      func() time.Time
	// unknown is the secret of triggers that have none. No sender has it.
	unknown string
}

func New(triggers Triggers) *Receiver {
	return &Receiver{triggers: triggers, now: time.Now, unknown: rand.Text()}
}

// Deliver fires the trigger of a webhook. An error below 500 means that a repetition would change nothing.
func (r *Receiver) Deliver(ctx context.Context, sent intake.Webhook) (intake.Receipt, error) {
	name := types.NamespacedName{Namespace: sent.Namespace, Name: sent.Trigger}
	found, received, err := r.receive(ctx, name, sent)
	if err != nil {
		return intake.Receipt{}, err
	}
	if received.ping {
		return intake.Receipt{Outcome: ping}, nil
	}
	f := trigger.Firing{ID: trigger.WebhookID(received.delivery), Time: r.now()}
	f.Input.Body, f.Input.Headers = received.body, received.headers
	decided, err := r.triggers.Fire(ctx, name, found.UID, f)
	if err != nil {
		if ctx.Err() == nil {
			ctrl.Log.WithName("webhook").Error(err, "A webhook could not be recorded", "trigger", name)
		}
		return intake.Receipt{}, intake.Unavailable("the firing could not be recorded")
	}
	switch decided.Outcome {
	case trigger.Wait:
		return intake.Receipt{}, intake.Unavailable("the trigger has too many firings at once")
	case trigger.Fired:
		return intake.Receipt{Outcome: decided.Outcome, Firing: f.ID, Name: decided.Name}, nil
	}
	return intake.Receipt{Outcome: decided.Outcome, Firing: f.ID, Reason: string(decided.Reason)}, nil
}

// receive authenticates a request and reads it. All requests that are not authenticated get the same response after the
// same work: a trigger that does not exist, has no webhook or has no Secret is handled as one with a secret that no
// sender has.
func (r *Receiver) receive(ctx context.Context, name types.NamespacedName, sent intake.Webhook) (*v1beta1.AgentTrigger, *received, error) {
	trigger, err := r.triggers.Trigger(ctx, name)
	if err != nil && !apierrors.IsNotFound(err) {
		return nil, nil, err
	}
	exists := err == nil && trigger.Spec.Webhook != nil
	if !exists {
		trigger = &v1beta1.AgentTrigger{Spec: v1beta1.AgentTriggerSpec{Webhook: &v1beta1.TriggerWebhook{}}}
	}
	secret := ""
	if exists {
		secret, err = r.triggers.Secret(ctx, trigger.Namespace, trigger.Spec.Webhook.SecretKeyRef)
		secret = strings.TrimRight(secret, "\r\n") // of a Secret that was made from a file
	}
	if err != nil || secret == "" {
		secret = r.unknown // the condition of the trigger reports the error
	}
	received, err := findFormat(trigger.Spec.Webhook.Format).receive(sent.Header, sent.Body, secret, r.now())
	return trigger, received, err
}
