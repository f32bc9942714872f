// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package money

import "testing"

func TestFormat(t *testing.T) {
	for _, c := range []struct {
		micros   int64
		currency string
		want     string
	}{
		{420_000, "USD", "$0.42"}, {420_000, "EUR", "0.42 EUR"}, {420_000, "", "0.42"}, {0, "USD", "$0"}, {1_230, "USD", "$0.00123"},
		{1, "JPY", "0.000001 JPY"}, {12_345_678_900, "USD", "$12345.68"},
	} {
		if got := Format(c.micros, c.currency); got != c.want {
			t.Errorf("Format(%d, %q) is %q, want %q", c.micros, c.currency, got, c.want)
		}
	}
}

func TestSumsListEachCurrency(t *testing.T) {
	for want, sums := range map[string]Sums{
		"0": {}, "$0.42": {"USD": 420_000, "EUR": 0}, "0.10 EUR + $0.42": {"USD": 420_000, "EUR": 100_000},
	} {
		if got := sums.String(); got != want {
			t.Errorf("%v is %q, want %q", map[string]int64(sums), got, want)
		}
	}
}
