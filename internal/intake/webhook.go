// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package intake

import (
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nestor-dev/nestor/internal/trigger"
)

// GitHub signs the body alone: the header has sha256= and an HMAC in hexadecimal digits. All others sign as Standard
// Webhooks has it: the header has v1, and the HMAC of ID.TIMESTAMP.BODY in base64, for each key that is valid, with
// spaces between them.
const (
	GitHubSignature = "X-Hub-Signature-256"
	OwnSignature    = "Webhook-Signature"
)

// RetryAfter is when the sender of a webhook should try again, in seconds.
const RetryAfter = 2

// ErrUnauthorized is the error of every webhook that is not authenticated. It does not reveal whether the trigger exists.
var ErrUnauthorized = apierrors.NewUnauthorized("The signature or token is missing or wrong, or there is no such webhook.")

// Webhook is a request to a trigger, as its sender sent it.
type Webhook struct {
	Namespace string      `json:"namespace"`
	Trigger   string      `json:"trigger"`
	Header    http.Header `json:"header"`
	Body      []byte      `json:"body"`
}

// Receipt is the response to an accepted webhook.
type Receipt struct {
	Outcome trigger.Outcome `json:"outcome"`
	// Firing is the id of the firing, and Name the name of its task or message.
	Firing string `json:"firing,omitempty"`
	Name   string `json:"name,omitempty"`
	Reason string `json:"reason,omitempty"`
}

// IsSigned reports whether a webhook has a signature, which may be wrong.
func IsSigned(header http.Header) bool {
	return header.Get(GitHubSignature) != "" || header.Get(OwnSignature) != ""
}

// Unavailable returns the error of a webhook that was not recorded: the sender should try again.
func Unavailable(message string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusServiceUnavailable, Reason: metav1.StatusReasonServiceUnavailable, Message: message + ": try again",
		Details: &metav1.StatusDetails{RetryAfterSeconds: RetryAfter},
	}}
}
