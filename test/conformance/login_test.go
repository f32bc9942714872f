// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"context"
	"fmt"
	"net/http"
	"net/url"

	"k8s.io/client-go/kubernetes/fake"

	"github.com/nestor-dev/nestor/internal/login"
	"github.com/nestor-dev/nestor/internal/login/request"
	"github.com/nestor-dev/nestor/internal/outbound"
	"github.com/nestor-dev/nestor/internal/push"
)

// logIn logs a person in to a server, with a browser that consents to everything.
func logIn(ctx context.Context, address string) (*login.Source, error) {
	secrets := fake.NewClientset().CoreV1().Secrets("nestor-system")
	keyring := &push.Keyring{Secrets: secrets, Name: "keys"}
	service := login.New(&login.Store{Secrets: secrets, Keys: keyring.Keys}, outbound.New(outbound.Options{AllowLoopback: true}), "http://127.0.0.1:8080")
	server := login.Server{Namespace: "team", Name: "suite", UID: "1", URL: address}
	to, err := service.Begin(ctx, server, "alice")
	if err != nil {
		return nil, err
	}
	answer, err := browse(ctx, to)
	if err != nil {
		return nil, err
	}
	err = service.Finish(ctx, server, "alice", request.Answer{State: answer.Get("state"), Code: answer.Get("code"), Issuer: answer.Get("iss"), Error: answer.Get("error")})
	return service.Source(server, "alice"), err
}

// browse returns the answer with which an authorization server redirects a browser.
func browse(ctx context.Context, address string) (url.Values, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	to, err := response.Location()
	if err != nil {
		return nil, fmt.Errorf("the authorization server answers %s: %w", response.Status, err)
	}
	return to.Query(), nil
}
