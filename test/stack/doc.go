// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package stack runs all of Nestor on this machine for suites that test it from outside: a control plane, a ledger, the scripted model and
// the real operator, each in its own process that can be killed and started again.
//
//	s, err := stack.Start(ctx, stack.Options{Ledger: stack.PostgreSQL, Scripts: []string{"builtin:load"}})
//	defer s.Stop()
//	s.Operator.Kill()
//	err = s.StartOperator(ctx)
//
// The operator has exactly the permissions of the chart, and the chart's policies are installed.
//
// No process outlives the caller, however the caller ends.
package stack
