// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package intake

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/nestor-dev/nestor/internal/login/request"
	"github.com/nestor-dev/nestor/internal/push"
)

// Audience is the audience of the tokens with which the gateway proves its identity.
const Audience = "nestor-operator"

// The paths of the endpoint. All requests are posted.
const (
	WebhooksPath      = "/webhooks"
	RegistrationsPath = "/registrations"
	KeysPath          = "/keys"
	LoginsPath        = "/logins"
)

// timeout limits a request to the operator. Senders of webhooks do not wait much longer.
const timeout = 30 * time.Second

// Answer is a response of the endpoint: a result, or the error that is meant for the client of the gateway. All other errors are about the
// gateway itself, and have another status than 200.
type Answer[T any] struct {
	Result T              `json:"result,omitzero"`
	Error  *metav1.Status `json:"error,omitempty"`
}

// Operator is where the gateway finds the operator's endpoint. The files are read again when they change.
type Operator struct {
	// URL is the address, such as https://nestor-operator.nestor-system.svc.
	URL string
	// CAFile has the authorities of its certificate.
	CAFile string
	// TokenFile has a token of the gateway's service account for [Audience].
	TokenFile string
}

// Client sends webhooks and registrations to the operator.
type Client struct {
	url  string
	http *http.Client
}

func NewClient(operator Operator) (*Client, error) {
	connected, err := rest.HTTPClientFor(&rest.Config{
		Host: operator.URL, BearerTokenFile: operator.TokenFile, TLSClientConfig: rest.TLSClientConfig{CAFile: operator.CAFile},
		Timeout: timeout, UserAgent: "nestor-gateway",
	})
	if err != nil {
		return nil, fmt.Errorf("connect to the operator at %s: %w", operator.URL, err)
	}
	return &Client{strings.TrimSuffix(operator.URL, "/"), connected}, nil
}

func (c *Client) Deliver(ctx context.Context, sent Webhook) (Receipt, error) {
	receipt, err := call[Receipt](ctx, c, WebhooksPath, sent)
	var forSender *apierrors.StatusError
	if err == nil || errors.As(err, &forSender) {
		return receipt, err
	}
	if ctx.Err() == nil {
		ctrl.Log.WithName("intake").Error(err, "A webhook did not reach the operator", "Namespace", sent.Namespace, "AgentTrigger", sent.Trigger)
	}
	return Receipt{}, Unavailable("the firing could not be recorded")
}

// Seal returns the configuration to store for a registration. The error of one that is not valid is a BadRequest.
func (c *Client) Seal(ctx context.Context, wanted push.Registration) (push.Config, error) {
	return call[push.Config](ctx, c, RegistrationsPath, wanted)
}

// PublicKeys returns the keys with which receivers verify notifications.
func (c *Client) PublicKeys(ctx context.Context) (push.JWKS, error) {
	return call[push.JWKS](ctx, c, KeysPath, struct{}{})
}

// Login does what a person wants at a tool server. An error for the person is a status.
func (c *Client) Login(ctx context.Context, wanted request.Request) (request.Result, error) {
	return call[request.Result](ctx, c, LoginsPath, wanted)
}

func call[T any](ctx context.Context, c *Client, path string, sent any) (result T, err error) {
	body, err := json.Marshal(sent)
	if err != nil {
		return result, fmt.Errorf("encode a request to the operator: %w", err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url+path, bytes.NewReader(body))
	if err != nil {
		return result, fmt.Errorf("connect to the operator: %w", err)
	}
	response, err := c.http.Do(request)
	if err != nil {
		return result, fmt.Errorf("connect to the operator: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return result, fmt.Errorf("the operator refused a request of the gateway: %s", response.Status)
	}
	var answer Answer[T]
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		return result, fmt.Errorf("read the operator's response: %w", err)
	}
	if answer.Error != nil {
		return result, &apierrors.StatusError{ErrStatus: *answer.Error}
	}
	return answer.Result, nil
}
