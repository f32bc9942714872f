// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package sqlite

import "github.com/nestor-dev/nestor/internal/ledger/sqlstore"

// Dialect implements sqlstore.Driver.
func (d *database) Dialect() sqlstore.Dialect {
	return sqlstore.Dialect{
		Columns: `SELECT t.name, c.name, lower(c.type), c.pk FROM sqlite_master t, pragma_table_info(t.name) c
			WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite!_%' ESCAPE '!'`,
		ReadCounter: `SELECT COALESCE((SELECT seq FROM sqlite_sequence WHERE name = 'agents'), 0)`,
		SetCounter: []string{
			`DELETE FROM sqlite_sequence WHERE name = 'agents'`,
			`INSERT INTO sqlite_sequence (name, seq) VALUES ('agents', $1)`,
		},
	}
}
