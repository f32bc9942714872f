// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package gemini_test

import (
	"testing"

	"github.com/nestor-dev/nestor/internal/model"
	"github.com/nestor-dev/nestor/internal/model/conformance"
	"github.com/nestor-dev/nestor/internal/model/gemini"
	"github.com/nestor-dev/nestor/internal/model/wire"
)

func TestConformance(t *testing.T) { conformance.Run(t, subject()) }

func TestVertexConformance(t *testing.T) {
	conformance.Run(t, conformance.Subject{
		API:       model.Vertex,
		NewClient: func(endpoint wire.Endpoint) (model.Client, error) { return gemini.NewVertexClient(endpoint) },
		BaseURL:   func(address string) string { return address + "/v1/projects/p/locations/global" },
	})
}

func subject() conformance.Subject {
	return conformance.Subject{
		API:       model.Gemini,
		NewClient: func(endpoint wire.Endpoint) (model.Client, error) { return gemini.NewClient(endpoint) },
		BaseURL:   func(address string) string { return address },
	}
}
