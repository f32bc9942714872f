// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package patience limits how long tests wait for a condition. The limit is for the machine, not for the product: a test
// that passes does not wait that long, and a product that becomes slow is noticed.
package patience

import (
	"fmt"
	"os"
	"strconv"
	"time"
)

// Variable is the environment variable with the factor for busy machines, for example 4 or 0.5.
const Variable = "TEST_PATIENCE"

// base is the limit on a quiet machine, and defaultFactor the factor without the variable.
const (
	base          = 15 * time.Second
	defaultFactor = 8
)

// Limit returns how long a test waits for a condition before it fails.
func Limit() time.Duration {
	text := os.Getenv(Variable)
	if text == "" {
		return defaultFactor * base
	}
	factor, err := strconv.ParseFloat(text, 64)
	if err != nil || factor <= 0 {
		panic(fmt.Sprintf("%s=%q is not a positive number", Variable, text))
	}
	return time.Duration(factor * float64(base))
}
