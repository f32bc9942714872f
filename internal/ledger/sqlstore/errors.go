// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/nestor-dev/nestor/internal/ledger"
)

// fail says what was attempted, and turns an error of the database into one that callers can judge.
func (s *Store) fail(op string, err error) error { return Fail(s.driver, op, err) }

// Fail wraps an error of the driver's database as a *ledger.Error without secrets. Errors that the ledger made itself,
// and a caller that gave up, keep their meaning.
func Fail(driver Driver, op string, err error) error {
	var failure *ledger.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &failure):
		return err
	case isOwn(err):
		return fmt.Errorf("%s: %w", op, err)
	case errors.Is(err, sql.ErrNoRows):
		return fmt.Errorf("%s: %w", op, ledger.ErrNotFound)
	case errors.Is(err, context.Canceled):
		return fmt.Errorf("%s: %w", op, context.Canceled)
	}
	reason, words := driver.Classify(err)
	failure = &ledger.Error{Ledger: driver.Name(), Op: op, Reason: reason, Err: errors.New(words)}
	if errors.Is(err, context.DeadlineExceeded) {
		failure.Err = fmt.Errorf("%s: %w", words, context.DeadlineExceeded)
	}
	return failure
}

func isOwn(err error) bool {
	for _, target := range []error{ledger.ErrInvalid, ledger.ErrNotFound, ledger.ErrPruned, ledger.ErrNoIntent, ledger.ErrKeyTaken, ledger.ErrFenced, ledger.ErrClosed} {
		if errors.Is(err, target) {
			return true
		}
	}
	return false
}
