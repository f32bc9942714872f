// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"github.com/nestor-dev/nestor/internal/ledger"
)

// fail adds the operation, and converts an error of the database to a *ledger.Error.
func (s *Store) fail(op string, err error) error { return Fail(s.driver, op, err) }

// Fail wraps an error of the driver's database as a *ledger.Error without secrets. Errors of the ledger itself and of
// contexts stay recognisable.
func Fail(driver Driver, op string, err error) error {
	var failure *ledger.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &failure):
		return err
	case isLedgerError(err):
		return fmt.Errorf("%s: %w", op, err)
	case errors.Is(err, sql.ErrNoRows):
		return fmt.Errorf("%s: %w", op, ledger.ErrNotFound)
	case errors.Is(err, context.Canceled):
		return fmt.Errorf("%s: %w", op, context.Canceled)
	}
	reason, message := driver.Classify(err)
	failure = &ledger.Error{Ledger: driver.Name(), Op: op, Reason: reason, Err: errors.New(message)}
	if errors.Is(err, context.DeadlineExceeded) {
		failure.Err = fmt.Errorf("%s: %w", message, context.DeadlineExceeded)
	}
	return failure
}

func isLedgerError(err error) bool {
	targets := []error{
		ledger.ErrInvalid, ledger.ErrNotFound, ledger.ErrPruned, ledger.ErrNoIntent, ledger.ErrKeyTaken, ledger.ErrFenced, ledger.ErrOwned,
		ledger.ErrShardCountChanged, ledger.ErrShardsInUse, ledger.ErrClosed,
	}
	return slices.ContainsFunc(targets, func(target error) bool { return errors.Is(err, target) })
}
