// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package calc_test

import (
	"context"
	"strings"
	"testing"

	"github.com/nestor-dev/nestor/internal/tool/builtin/calc"
	"github.com/nestor-dev/nestor/test/patience"
)

func TestValues(t *testing.T) {
	for expression, want := range map[string]string{
		"1+1":                        "2",
		"0.1 + 0.2":                  "0.3",
		"2 + 3 * 4":                  "14",
		"(2 + 3) * 4":                "20",
		"7 - 2 - 1":                  "4",
		"100 / 10 / 2":               "5",
		"-2^2":                       "-4",
		"(-2)^2":                     "4",
		"2^3^2":                      "512",
		"2**10":                      "1024",
		"2^-3":                       "0.125",
		"--5":                        "5",
		"3 - -2":                     "5",
		"7 % 3":                      "1",
		"-7 % 3":                     "2",
		"7 % -3":                     "-2",
		"7.5 % 2":                    "1.5",
		"1/3":                        "1/3 (exact fraction, about 0.333333333333333333333333333333)",
		"1/3*3":                      "1",
		"1/8":                        "0.125",
		"1e3":                        "1000",
		"1.5E-2":                     "0.015",
		"1_000_000 * 3":              "3000000",
		".5 + 5.":                    "5.5",
		"6 × 7 ÷ 2 − 1":              "20",
		"sqrt(16)":                   "4",
		"sqrt(2.25)":                 "1.5",
		"sqrt(1/9)":                  "1/3 (exact fraction, about 0.333333333333333333333333333333)",
		"sqrt(2)":                    "1.41421356237309504880168872421 (rounded to 30 significant digits)",
		"sqrt(2)^2":                  "2 (rounded to 30 significant digits)",
		"sqrt(1e-60*2)":              "1.41421356237309504880168872421e-30 (rounded to 30 significant digits)",
		"root(27, 3)":                "3",
		"root(-27, 3)":               "-3",
		"8^(1/3)":                    "2",
		"8^(-2/3)":                   "0.25",
		"100 * 1.06^(1/12)":          "100.486755056534303754119894559 (rounded to 30 significant digits)",
		"root(2^1000, 500)":          "4",
		"abs(-3.5)":                  "3.5",
		"min(3, 1, 2)":               "1",
		"max(3, 1, 2)":               "3",
		"max(pi, 3)":                 "3.14159265358979323846264338328 (rounded to 30 significant digits)",
		"floor(-1.5)":                "-2",
		"ceil(-1.5)":                 "-1",
		"ceil(1.01)":                 "2",
		"round(2.5)":                 "3",
		"round(-2.5)":                "-3",
		"round(1234.567, 2)":         "1234.57",
		"round(1234.567, -2)":        "1200",
		"0^0":                        "1",
		"1^99999999999999999999":     "1",
		"(-1)^99999999999999999999":  "-1",
		"(-1)^100000000000000000000": "1",
		"0^99999999999999999999":     "0",
		"2^100":                      "1267650600228229401496703205376",
		"e":                          "2.71828182845904523536028747135 (rounded to 30 significant digits)",
		"((((1))))":                  "1",
		"123456789 * 987654321":      "121932631112635269",
		"1000000 * (1 + 0.05/12)^12": "38388797722185519065061084481/36520347436056576000000 (exact fraction, about 1051161.89788173318980487389096)",
	} {
		value, err := calc.Eval(t.Context(), expression)
		if err != nil {
			t.Errorf("%s: %v", expression, err)
			continue
		}
		if got := value.String(); got != want {
			t.Errorf("%s = %s, want %s", expression, got, want)
		}
	}
}

func TestErrorsSayWhereAndWhy(t *testing.T) {
	for expression, want := range map[string]string{
		"":                               "empty",
		"   ":                            "empty",
		"1/0":                            "character 2: /: division by zero",
		"5 % (2-2)":                      "division by zero",
		"0^-1":                           "zero has no negative power",
		"2 +":                            `found "the end" where a number`,
		"2 3":                            `character 3: found "3" where an operator`,
		"2(3)":                           `character 2: found "("`,
		"(1":                             "where an operator or ')' should be",
		"1)":                             `found ")"`,
		"(1,000)":                        "without thousands separators",
		"1,000":                          `found ","`,
		"sqrt(-1)":                       "character 1: sqrt: a negative number has no real root",
		"(-8)^(1/2)":                     "no real root of even degree",
		"2^0.00001":                      "whole degree",
		"root(2, 0)":                     "whole degree",
		"sqrt(1, 2)":                     "write sqrt(x)",
		"sqrt 2":                         "'(' after sqrt",
		"sin(1)":                         `"sin" is unknown; there are sqrt`,
		"x + 1":                          `"x" is unknown`,
		"__import__('os')":               "does not belong in arithmetic",
		"2 $ 3":                          "character 3: '$' does not belong",
		"1..2":                           "is not a number",
		"1e99999":                        "too large or too small",
		"9^9^9^9":                        "the result would have more than",
		"2^999999999":                    "the result would have more than",
		"(2^16000)*(2^16000)":            "the result would have more than",
		"round(1, 0.5)":                  "digits must be a whole number",
		strings.Repeat("(", 300):         "nested more than 200 deep",
		strings.Repeat("-", 300):         "nested more than 200 deep",
		strings.Repeat("1+", 3000):       "the limit is 4096",
		strings.Repeat("2^", 1000):       "nested more than 200 deep",
		"round(":                         `found "the end"`,
		"abs()":                          `found ")"`,
		"\xff":                           "does not belong in arithmetic",
		"1 + " + strings.Repeat("x", 10): "is unknown",
	} {
		value, err := calc.Eval(t.Context(), expression)
		if err == nil {
			t.Errorf("%q = %s, want an error", expression, value)
			continue
		}
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %q, want %q", expression, err, want)
		}
	}
}

// TestLargestExpressionsAreQuick checks that the worst expressions within the limits do not block a worker.
func TestLargestExpressionsAreQuick(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), patience.Limit())
	defer cancel()
	for _, expression := range []string{
		strings.TrimSuffix(strings.Repeat("3^10000/7^5000*", 250), "*"),
		strings.TrimSuffix(strings.Repeat("1/3^9999+", 400), "+"),
		strings.TrimSuffix(strings.Repeat("root(2,999)+", 300), "+"),
	} {
		if _, err := calc.Eval(ctx, expression); ctx.Err() != nil {
			t.Fatalf("%.40s... takes too long: %v", expression, err)
		}
	}
}

func TestCancelledContextStopsTheWork(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := calc.Eval(ctx, "1+1"); err == nil {
		t.Error("evaluation continued after the context ended")
	}
}
