// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package calc evaluates arithmetic expressions exactly, for models.
//
// Numbers are rationals of any size (math/big), so 0.1+0.2 is 0.3 and 1/3*3 is 1. Only roots and the constants pi and
// e can be irrational; a value computed from a rounded one is marked as rounded.
//
//	expression = term { ("+" | "-") term }
//	term       = unary { ("*" | "/" | "%") unary }
//	unary      = { "+" | "-" } power
//	primary    = number | constant | function "(" expression { "," expression } ")" | "(" expression ")"
//	power      = primary [ "^" unary ]
//
// So ^ binds tighter than a sign and is right-associative: -2^2 is -4 and 2^3^2 is 512. The sign of a % b is that of
// b, as in mathematics and Python.
//
// Expressions and numbers are bounded, the size of powers is checked before they are computed, and the context is
// checked between operations: 9^9^9^9 is rejected at once.
package calc
