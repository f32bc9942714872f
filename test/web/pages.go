// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/nestor-dev/nestor/internal/server"
)

// open serves a page as one of the users.
func (s *stack) open(ctx context.Context, user, namespace string) (map[string]string, error) {
	config, ok := s.users[user]
	if !ok {
		return nil, fmt.Errorf("there is no user %q", user)
	}
	link, done, err := server.Local(ctx, server.LocalOptions{Config: config, Namespace: namespace, GatewayURL: "https://gateway.invalid"})
	if err != nil {
		return nil, err
	}
	go func() {
		if err := <-done; err != nil {
			fmt.Fprintln(os.Stderr, "web:", err)
		}
	}()
	return map[string]string{"link": link}, nil
}

// tokens serves a page with token sign-in.
func (s *stack) tokens(ctx context.Context) (map[string]string, error) {
	api, err := kubernetes.NewForConfig(s.cluster.Config)
	if err != nil {
		return nil, fmt.Errorf("connect to the cluster: %w", err)
	}
	request, err := api.CoreV1().ServiceAccounts("alice").CreateToken(ctx, "robot", &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		return nil, fmt.Errorf("create a token: %w", err)
	}
	handler := server.New(server.Options{Identity: server.Tokens(s.cluster.Config, false), Namespace: "alice"})
	return map[string]string{"url": s.serve(handler), "token": request.Status.Token}, nil
}
