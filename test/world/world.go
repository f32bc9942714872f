// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package world has what suites on a stack share: the stack itself, namespaces for single tests, and the verbs that
// tests use in them.
package world

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"testing"

	"github.com/nestor-dev/nestor/internal/ledger/ledgertest/pgserver"
	"github.com/nestor-dev/nestor/test/stack"
)

// World is a running Nestor.
type World struct {
	*stack.Stack
	rooms atomic.Int64
}

// Start starts a stack that ends with the test. The test is skipped without PostgreSQL if it needs one, except in CI.
func Start(t testing.TB, options stack.Options) *World {
	t.Helper()
	s, err := stack.Start(t.Context(), options)
	if errors.Is(err, pgserver.ErrNotInstalled) && os.Getenv("CI") != "true" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(s.OperatorLog())
		}
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	})
	return &World{Stack: s}
}

// Main starts a stack for all tests of a package, runs them, and returns the exit code for TestMain.
func Main(m *testing.M, options stack.Options, started func(*World)) (code int) {
	s, err := stack.Start(context.Background(), options)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	started(&World{Stack: s})
	if code = m.Run(); code != 0 {
		fmt.Fprintln(os.Stderr, s.OperatorLog())
	}
	if err := s.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}
