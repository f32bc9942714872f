// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/nestor-dev/nestor/internal/ledger"
)

// TestClassifyServerErrors covers errors that a test cannot provoke on a real server.
func TestClassifyServerErrors(t *testing.T) {
	for code, want := range map[string]ledger.Reason{
		"53100": ledger.ReasonFull,
		"53300": ledger.ReasonUnavailable, // too many connections
		"57P01": ledger.ReasonUnavailable, // the server is stopping
		"57P03": ledger.ReasonUnavailable, // the server is starting
		"08006": ledger.ReasonUnavailable,
		"40P01": ledger.ReasonUnavailable, // deadlock
		"25006": ledger.ReasonReadOnly,
		"28P01": ledger.ReasonDenied,
		"42501": ledger.ReasonDenied,
		"3D000": ledger.ReasonMisconfigured,
		"XX001": ledger.ReasonCorrupt,
		"58030": ledger.ReasonIOError,
		"42601": ledger.ReasonFailed, // a syntax error is a programming error
	} {
		if got := classify(fmt.Errorf("append: %w", &pgconn.PgError{Code: code})); got != want {
			t.Errorf("%s: %s, want %s", code, got, want)
		}
	}
	for _, err := range []error{io.ErrUnexpectedEOF, context.DeadlineExceeded, pgconn.ErrConnClosed} {
		if got := classify(err); got != ledger.ReasonUnavailable {
			t.Errorf("%v: %s, want %s", err, got, ledger.ReasonUnavailable)
		}
	}
	if got := classify(errors.New("something else")); got != ledger.ReasonFailed {
		t.Errorf("an unknown error: %s, want %s", got, ledger.ReasonFailed)
	}
}

func TestRedactRemovesOnlySecrets(t *testing.T) {
	db := &database{secrets: []string{"", "p%40ss", "p@ss"}}
	if got, want := db.redact("cannot use p@ss or p%40ss at host"), "cannot use xxxxx or xxxxx at host"; got != want {
		t.Errorf("scrubbed %q, want %q", got, want)
	}
}
