// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package calc

import "math/big"

// Rat returns the value as a new rational.
func (v Value) Rat() *big.Rat { return new(big.Rat).Set(v.rat) }
