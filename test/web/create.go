// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/internal/operator"
)

func (s *stack) create(ctx context.Context, user, text string) (map[string]string, error) {
	config, ok := s.users[user]
	if !ok {
		return nil, fmt.Errorf("there is no user %q", user)
	}
	object := &unstructured.Unstructured{}
	if err := json.Unmarshal([]byte(text), &object.Object); err != nil {
		return nil, fmt.Errorf("read the object: %w", err)
	}
	api, err := client.New(config, client.Options{Scheme: operator.NewScheme()})
	if err != nil {
		return nil, fmt.Errorf("connect to the cluster: %w", err)
	}
	if err := api.Create(ctx, object); err != nil {
		return nil, fmt.Errorf("create %s %s: %w", object.GetKind(), object.GetName(), err)
	}
	return map[string]string{"name": object.GetName()}, nil
}
