// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package postgres_test

import (
	"testing"

	"github.com/nestor-dev/nestor/internal/ledger/ledgertest"
)

func BenchmarkAppend(b *testing.B) { ledgertest.Benchmark(b, newDatabase) }
