// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package anthropic_test

import (
	"testing"

	"github.com/nestor-dev/nestor/internal/model/conformance"
)

func TestConformance(t *testing.T) { conformance.Run(t, subject()) }
