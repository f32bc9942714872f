// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package stack runs all of Nestor on this machine for suites that look at it from outside: a control plane, a ledger, the
// scripted model and the real operator, each a process of its own that can be killed and started again.
//
//	s, err := stack.Start(ctx, stack.Options{Ledger: stack.PostgreSQL, Scripts: []string{"builtin:load"}})
//	defer s.Stop()
//	s.Operator.Kill()
//	err = s.StartOperator(ctx)
//
// The operator has the rights that the chart gives it, and no others; the chart's policies are at work.
//
// Nothing outlives the caller, however it ends.
package stack
