// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"math"
	"slices"
)

// Distribution summarizes measurements.
type Distribution struct {
	Count int     `json:"count"`
	P50   float64 `json:"p50"`
	P95   float64 `json:"p95"`
	P99   float64 `json:"p99"`
	Max   float64 `json:"max"`
}

// Distribute summarizes measurements and sorts them. It returns nil without measurements.
func Distribute(values []float64) *Distribution {
	if len(values) == 0 {
		return nil
	}
	slices.Sort(values)
	return &Distribution{
		Count: len(values), P50: quantile(values, 0.50), P95: quantile(values, 0.95), P99: quantile(values, 0.99), Max: values[len(values)-1],
	}
}

// quantile returns the nearest rank: a measured value, above which at most 1-q of the others lie.
func quantile(sorted []float64, q float64) float64 {
	rank := int(math.Ceil(q * float64(len(sorted))))
	return sorted[min(max(rank, 1), len(sorted))-1]
}
