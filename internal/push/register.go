// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package push

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/nestor-dev/nestor/internal/outbound"
)

// Registration is a client's request for notifications about a task.
type Registration struct {
	Namespace string  `json:"namespace"`
	Task      string  `json:"task"`
	ID        string  `json:"id"`
	URL       string  `json:"url"`
	Secrets   Secrets `json:"secrets,omitzero"`
}

// Registrar checks registrations and seals their secrets.
type Registrar struct {
	Keyring *Keyring
	// Reach has the permitted addresses of receivers. Loopback addresses also permit plain HTTP, for local mode and
	// tests.
	Reach outbound.Options
}

// Seal returns the configuration to store with a task. The error of a registration that is not valid is a BadRequest.
func (r Registrar) Seal(ctx context.Context, wanted Registration) (Config, error) {
	if err := errors.Join(CheckID(wanted.ID), CheckURL(wanted.URL, r.Reach)); err != nil {
		return Config{}, apierrors.NewBadRequest(err.Error())
	}
	keys, err := r.Keyring.Keys(ctx)
	if err != nil {
		return Config{}, err
	}
	sealed, err := keys.Seal(wanted.Namespace, wanted.Task, Config{ID: wanted.ID, URL: wanted.URL}, wanted.Secrets)
	if err != nil {
		return Config{}, apierrors.NewBadRequest(err.Error())
	}
	return sealed, nil
}

// PublicKeys returns the keys with which receivers verify notifications.
func (r Registrar) PublicKeys(ctx context.Context) (JWKS, error) {
	keys, err := r.Keyring.Keys(ctx)
	if err != nil {
		return JWKS{}, err
	}
	return keys.Public(), nil
}
