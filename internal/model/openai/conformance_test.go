// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package openai_test

import (
	"testing"

	"github.com/nestor-dev/nestor/internal/model"
	"github.com/nestor-dev/nestor/internal/model/conformance"
	"github.com/nestor-dev/nestor/internal/model/openai"
	"github.com/nestor-dev/nestor/internal/model/wire"
)

func TestConformance(t *testing.T) { conformance.Run(t, subject()) }

func subject() conformance.Subject {
	return conformance.Subject{
		API:       model.OpenAI,
		NewClient: func(endpoint wire.Endpoint) (model.Client, error) { return openai.NewClient(endpoint) },
		BaseURL:   func(address string) string { return address + "/v1" },
	}
}
