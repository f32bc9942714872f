// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package money formats amounts of money for people.
package money

import (
	"fmt"
	"strings"
)

// cent is a hundredth of a currency, in millionths.
const cent = 10_000

// Format formats millionths of a currency: $0.42, or 0.42 EUR. Amounts below a hundredth have all their digits. Without a currency it is only
// the number.
func Format(micros int64, currency string) string {
	number := fmt.Sprintf("%.2f", float64(micros)/1e6)
	switch {
	case micros == 0:
		number = "0"
	case micros < cent:
		number = strings.TrimRight(fmt.Sprintf("%.6f", float64(micros)/1e6), "0")
	}
	switch currency {
	case "":
		return number
	case "USD":
		return "$" + number
	}
	return number + " " + currency
}
