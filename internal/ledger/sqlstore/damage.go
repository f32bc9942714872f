// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package sqlstore

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/ledger/fold"
)

const unreadable = "(unreadable)"

// missingEvent distinguishes a missing event from a database failure.
func missingEvent(err error, seq int64) error {
	if errors.Is(err, sql.ErrNoRows) {
		return fmt.Errorf("%w: there is no event %d", fold.ErrDamaged, seq)
	}
	return err
}

// isDamage reports whether the error is caused by damaged data and not by the database.
func isDamage(err error) bool {
	var syntax *json.SyntaxError
	return errors.Is(err, fold.ErrDamaged) || errors.Is(err, ledger.ErrBrokenChain) || errors.As(err, &syntax)
}
