// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package notify

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/outbound"
	"github.com/nestor-dev/nestor/internal/push"
)

const (
	// sendTimeout limits an attempt, with everything that belongs to it.
	sendTimeout = 10 * time.Second
	// maxReply is how much of a reply is read, so that its connection can be used again.
	maxReply = 4 << 10
)

// SignatureHeader has the signed token if the header Authorization has the credentials that the client registered.
const SignatureHeader = "Nestor-Notification-Signature"

// tokenHeaders have the client's token. The specification names no header; the SDKs differ.
var tokenHeaders = []string{"X-A2A-Notification-Token", "A2A-Notification-Token"}

// Sender sends notifications.
type Sender struct {
	Keys *push.Keyring
	// Issuer is the issuer of the tokens: the address of the gateway in the cluster.
	Issuer string
	// Reach is where receivers may be. Loopback addresses permit plain HTTP too, for local mode and tests.
	Reach outbound.Options
	// Secret reads a key of a Secret; the value is in no error.
	Secret func(ctx context.Context, namespace string, ref v1beta1.SecretKeyRef) ([]byte, error)
	// PageURL is where people reach the page, or empty.
	PageURL string

	client *http.Client
}

func NewSender(keys *push.Keyring, issuer string, reach outbound.Options) *Sender {
	transport := outbound.New(reach)
	transport.MaxIdleConnsPerHost = 2
	transport.IdleConnTimeout = 30 * time.Second
	return &Sender{Keys: keys, Issuer: issuer, Reach: reach, client: &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// notDelivered is recorded for every failed attempt, whatever its cause. A record of the cause would let a person who
// registers receivers scan addresses and ports.
const notDelivered = "the receiver did not accept the notification"

// undelivered returns the outcome of an attempt that a receiver did not accept. The cause is for the operator's log.
func undelivered(cause string) outcome { return outcome{failure: notDelivered, cause: cause} }

// send makes one attempt to deliver a notification of A2A.
func (s *Sender) send(ctx context.Context, task types.NamespacedName, config push.Config, body []byte) outcome {
	if err := push.CheckURL(config.URL, s.Reach); err != nil {
		return outcome{failure: err.Error(), final: true}
	}
	request, failed := s.request(ctx, task, config, body)
	if failed.failure != "" {
		return failed
	}
	return s.post(request)
}

// post sends a request. The error of the HTTP client is not shown: it contains the URL.
func (s *Sender) post(request *http.Request) outcome {
	request.Header.Set("User-Agent", "nestor-operator")
	reply, err := s.client.Do(request)
	if err != nil {
		return connectionFailure(err)
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(reply.Body, maxReply)) // what a receiver answers does not matter
	_ = reply.Body.Close()
	switch code := reply.StatusCode; code / 100 {
	case 2:
		return outcome{}
	case 3:
		return undelivered(fmt.Sprintf("the receiver answered with status %d: redirects are not followed", code))
	default:
		return undelivered(fmt.Sprintf("the receiver answered with status %d", code))
	}
}

func (s *Sender) request(ctx context.Context, task types.NamespacedName, config push.Config, body []byte) (*http.Request, outcome) {
	keys, err := s.Keys.Keys(ctx)
	if err != nil {
		return nil, outcome{failure: "the operator cannot read its keys for push notifications"}
	}
	secrets, err := keys.Open(task.Namespace, task.Name, config)
	if err != nil {
		return nil, outcome{failure: err.Error(), final: true}
	}
	receiver, err := url.Parse(config.URL)
	if err != nil {
		return nil, outcome{failure: "the URL is not valid", final: true}
	}
	token, err := keys.Sign(s.Issuer, receiver.Host, task.Namespace, task.Name, body, time.Now())
	if err != nil {
		return nil, outcome{failure: "the notification cannot be signed"}
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, config.URL, bytes.NewReader(body))
	if err != nil {
		return nil, outcome{failure: "the URL is not valid", final: true}
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("A2A-Version", "1.0")
	if secrets.Token != "" {
		for _, name := range tokenHeaders {
			request.Header.Set(name, secrets.Token)
		}
	}
	if secrets.Credentials == "" {
		request.Header.Set("Authorization", "Bearer "+token)
		return request, outcome{}
	}
	request.Header.Set("Authorization", secrets.Scheme+" "+secrets.Credentials)
	request.Header.Set(SignatureHeader, token)
	return request, outcome{}
}

// connectionFailure describes why there is no reply.
func connectionFailure(err error) outcome {
	var notAllowed *outbound.NotAllowedError
	var timeout net.Error
	switch {
	case errors.As(err, &notAllowed):
		return undelivered("the address of the receiver is " + notAllowed.Reason) // the address may be part of a secret
	case errors.As(err, &timeout) && timeout.Timeout(), errors.Is(err, context.DeadlineExceeded):
		return undelivered("the receiver did not answer in time")
	}
	return undelivered("no connection to the receiver")
}
