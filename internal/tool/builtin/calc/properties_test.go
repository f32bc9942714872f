// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package calc_test

import (
	"fmt"
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"github.com/nestor-dev/nestor/internal/tool/builtin/calc"
)

// expr is a random expression with its value, computed with big.Rat alone.
type expr struct {
	text  string
	value *big.Rat
}

func literals() *rapid.Generator[expr] {
	return rapid.Custom(func(t *rapid.T) expr {
		text := rapid.StringMatching(`[0-9]{1,12}(\.[0-9]{1,6})?(e-?[0-9])?`).Draw(t, "literal")
		value, ok := new(big.Rat).SetString(text)
		if !ok {
			t.Fatalf("%q is no number", text)
		}
		return expr{text, value}
	})
}

func expressions(depth int) *rapid.Generator[expr] {
	if depth == 0 {
		return literals()
	}
	smaller := expressions(depth - 1)
	return rapid.OneOf(literals(), rapid.Custom(func(t *rapid.T) expr {
		a, b := smaller.Draw(t, "a"), smaller.Draw(t, "b")
		z := new(big.Rat)
		switch rapid.IntRange(0, 6).Draw(t, "operator") {
		case 0:
			return expr{fmt.Sprintf("(%s + %s)", a.text, b.text), z.Add(a.value, b.value)}
		case 1:
			return expr{fmt.Sprintf("(%s-(%s))", a.text, b.text), z.Sub(a.value, b.value)}
		case 2:
			return expr{fmt.Sprintf("((%s)*(%s))", a.text, b.text), z.Mul(a.value, b.value)}
		case 3:
			if b.value.Sign() == 0 {
				return a
			}
			return expr{fmt.Sprintf("((%s)/(%s))", a.text, b.text), z.Quo(a.value, b.value)}
		case 4:
			return expr{fmt.Sprintf("-(%s)", a.text), z.Neg(a.value)}
		case 5:
			return expr{fmt.Sprintf("abs(%s)", a.text), z.Abs(a.value)}
		default:
			n := rapid.IntRange(0, 4).Draw(t, "exponent")
			z.SetInt64(1)
			for range n {
				z.Mul(z, a.value)
			}
			return expr{fmt.Sprintf("(%s)^%d", a.text, n), z}
		}
	}))
}

func TestAgreesWithRationals(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := expressions(4).Draw(t, "expression")
		got, err := calc.Eval(t.Context(), e.text)
		if err != nil {
			if len(e.text) > 4000 || e.value.Num().BitLen() > 4000 || e.value.Denom().BitLen() > 4000 {
				t.Skip("beyond the limits")
			}
			t.Fatalf("%s: %v", e.text, err)
		}
		if !got.Exact() || got.Rat().Cmp(e.value) != 0 {
			t.Fatalf("%s = %s (exact %v), want %s", e.text, got, got.Exact(), e.value.RatString())
		}
	})
}

func TestRootsAreRootsToManyDigits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := literals().Filter(func(e expr) bool { return e.value.Sign() > 0 }).Draw(t, "x")
		n := rapid.IntRange(1, 40).Draw(t, "n")
		got, err := calc.Eval(t.Context(), fmt.Sprintf("root(%s, %d)", x.text, n))
		if err != nil {
			t.Fatal(err)
		}
		raised := big.NewRat(1, 1)
		for range n {
			raised.Mul(raised, got.Rat())
		}
		off := raised.Sub(raised, x.value)
		off.Quo(off, x.value)
		if got.Exact() != (off.Sign() == 0) {
			t.Fatalf("root(%s, %d) claims exact %v, is off by %s", x.text, n, got.Exact(), off.FloatString(60))
		}
		if limit, _ := new(big.Rat).SetString("1e-45"); off.Abs(off).Cmp(limit) > 0 {
			t.Fatalf("root(%s, %d) is off by %s", x.text, n, off.FloatString(60))
		}
	})
}

func TestRemainderBelongsToTheDivisor(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := rapid.Int64Range(-1e6, 1e6).Draw(t, "a")
		b := rapid.Int64Range(-1e3, 1e3).Filter(func(b int64) bool { return b != 0 }).Draw(t, "b")
		got, err := calc.Eval(t.Context(), fmt.Sprintf("(%d) %% (%d)", a, b))
		if err != nil {
			t.Fatal(err)
		}
		want := ((a % b) + b) % b
		if got.Rat().Cmp(big.NewRat(want, 1)) != 0 {
			t.Fatalf("%d %% %d = %s, want %d", a, b, got, want)
		}
	})
}

func TestNeverPanics(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOfN(rapid.RuneFrom([]rune("0123456789.e+-*/%^(), sqrtminaxfloceupd_×π")), 0, 60, -1).Draw(t, "text")
		if value, err := calc.Eval(t.Context(), text); err == nil {
			_ = value.String()
		}
	})
}

func FuzzEval(f *testing.F) {
	for _, seed := range []string{"1+1", "2^-3", "sqrt(2)/root(5,3)", "round(1e3, -2) % 7", "9^9^9^9", "-(-1)", "min(1,2", "π"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		value, err := calc.Eval(t.Context(), text)
		if err != nil {
			return
		}
		// A value can be printed and, if exact and short, parsed again.
		written := value.String()
		if again, err := calc.Eval(t.Context(), written); err == nil && value.Exact() && again.Rat().Cmp(value.Rat()) != 0 {
			t.Fatalf("%q = %s, read again %s", text, written, again)
		}
	})
}
