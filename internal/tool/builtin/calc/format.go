// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package calc

import (
	"fmt"
	"math/big"
)

const (
	// shownDigits is how many significant digits a value has that cannot be
	// written exactly in decimals.
	shownDigits = 30
	// maxDecimals is the longest exact fraction that is written in decimals.
	maxDecimals = 1000
)

// String writes the value exactly where it can, as digits or as a fraction, and
// says so where it cannot.
func (v Value) String() string {
	if v.rounded {
		return fmt.Sprintf("%s (rounded to %d significant digits)", about(v.rat), shownDigits)
	}
	if decimals, exact := v.rat.FloatPrec(); exact && decimals <= maxDecimals {
		return v.rat.FloatString(decimals)
	}
	return fmt.Sprintf("%s (exact fraction, about %s)", v.rat.RatString(), about(v.rat))
}

// about writes r with shownDigits significant digits.
func about(r *big.Rat) string {
	return new(big.Float).SetPrec(256).SetRat(r).Text('g', shownDigits)
}
