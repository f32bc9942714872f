// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package calc

import (
	"fmt"
	"math/big"
)

const (
	// shownDigits is the number of significant digits of a value that has no exact decimal form.
	shownDigits = 30
	// maxDecimals is the maximum length of an exact decimal fraction.
	maxDecimals = 1000
)

// String formats the value exactly where possible, in decimals or as a fraction, and otherwise marks it as rounded.
func (v Value) String() string {
	if v.rounded {
		return fmt.Sprintf("%s (rounded to %d significant digits)", about(v.rat), shownDigits)
	}
	if decimals, exact := v.rat.FloatPrec(); exact && decimals <= maxDecimals {
		return v.rat.FloatString(decimals)
	}
	return fmt.Sprintf("%s (exact fraction, about %s)", v.rat.RatString(), about(v.rat))
}

// about formats r with shownDigits significant digits.
func about(r *big.Rat) string {
	return new(big.Float).SetPrec(256).SetRat(r).Text('g', shownDigits)
}
