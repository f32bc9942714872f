// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package transfer

import (
	"context"
	"fmt"

	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/ledger/sqlstore"
)

// checkUnowned returns an error while an operator owns a part of the ledger, or has left a result that the next
// operator records.
func checkUnowned(ctx context.Context, db sqlstore.Driver) error {
	var holders, results int64
	if err := db.Reader().QueryRowContext(ctx, "SELECT COUNT(*) FROM shards WHERE NOT released").Scan(&holders); err != nil {
		return sqlstore.Fail(db, "read the owners", err)
	}
	if holders > 0 {
		return fmt.Errorf("%w: an operator owns %s: stop all operators first; one that was killed must be started and stopped once",
			ledger.ErrInvalid, db.Name())
	}
	if err := db.Reader().QueryRowContext(ctx, "SELECT COUNT(*) FROM detached_calls WHERE result IS NOT NULL").Scan(&results); err != nil {
		return sqlstore.Fail(db, "read the results of detached calls", err)
	}
	if results > 0 {
		return fmt.Errorf("%w: %s has the results of %d calls that no operator has recorded yet: start an operator on it, and stop it again",
			ledger.ErrInvalid, db.Name(), results)
	}
	return nil
}
