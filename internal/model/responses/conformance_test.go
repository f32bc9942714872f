// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package responses_test

import (
	"testing"

	"github.com/nestor-dev/nestor/internal/model"
	"github.com/nestor-dev/nestor/internal/model/conformance"
	"github.com/nestor-dev/nestor/internal/model/responses"
	"github.com/nestor-dev/nestor/internal/model/wire"
)

func TestConformance(t *testing.T) { conformance.Run(t, subject()) }

func subject() conformance.Subject {
	return conformance.Subject{
		API:       model.OpenAIResponses,
		NewClient: func(e wire.Endpoint) (model.Client, error) { return responses.NewClient(e) },
		BaseURL:   func(address string) string { return address + "/v1" },
	}
}
