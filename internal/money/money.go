// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package money formats amounts of money for people, and keeps those of different currencies apart.
package money

import (
	"fmt"
	"maps"
	"slices"
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

// Sums are amounts by currency.
type Sums map[string]int64

// String lists the amounts: $0.42 + 0.10 EUR. Amounts of 0 are left out if there are others.
func (s Sums) String() string {
	var parts []string
	for _, currency := range slices.Sorted(maps.Keys(s)) {
		if s[currency] != 0 || len(s) == 1 {
			parts = append(parts, Format(s[currency], currency))
		}
	}
	if len(parts) == 0 {
		return "0"
	}
	return strings.Join(parts, " + ")
}

// Plus returns the sums of both, in each currency. It changes neither.
func (s Sums) Plus(other Sums) Sums {
	if len(s) == 0 {
		return maps.Clone(other)
	}
	sums := maps.Clone(s)
	for currency, micros := range other {
		sums[currency] += micros
	}
	return sums
}

// Several is the currency of a sum of amounts of different currencies. There is no such amount of money, so no limit allows it.
const Several = "several currencies"

// Join returns the currency of the sum of two amounts. An amount of 0 has none.
func Join(a int64, currency string, b int64, other string) string {
	switch {
	case a == 0 && b == 0:
		return ""
	case b == 0:
		return currency
	case a == 0, currency == other:
		return other
	}
	return Several
}
