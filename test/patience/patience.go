// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package patience limits how long tests wait for a condition. The limit is for the machine, not for the product: a test
// that passes does not wait that long, and a product that becomes slow is noticed. A wait for an interval of the product
// is that interval plus the limit.
package patience

import (
	"fmt"
	"os"
	"strconv"
	"time"
)

// Variable is the environment variable with the factor for busy machines, for example 4 or 0.5.
const Variable = "TEST_PATIENCE"

// base is the limit on a quiet machine, without the variable.
const base = 15 * time.Second

// interval is the time between two checks of Until.
const interval = 10 * time.Millisecond

// Limit returns how long a test waits for a condition before it fails.
func Limit() time.Duration {
	text := os.Getenv(Variable)
	if text == "" {
		return base
	}
	factor, err := strconv.ParseFloat(text, 64)
	if err != nil || factor <= 0 {
		panic(fmt.Sprintf("%s=%q is not a positive number", Variable, text))
	}
	return time.Duration(factor * float64(base))
}

// Until waits until a condition holds, and returns false if it does not before the limit.
func Until(holds func() bool) bool {
	ticker, late := time.NewTicker(interval), time.After(Limit())
	defer ticker.Stop()
	for !holds() {
		select {
		case <-ticker.C:
		case <-late:
			return holds()
		}
	}
	return true
}
