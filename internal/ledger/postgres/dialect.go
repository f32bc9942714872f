// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package postgres

import "github.com/nestor-dev/nestor/internal/ledger/sqlstore"

// Dialect implements sqlstore.Driver. The columns of a primary key are counted from 0 in indkey.
func (d *database) Dialect() sqlstore.Dialect {
	return sqlstore.Dialect{
		Columns: `SELECT t.relname::text, c.attname::text, format_type(c.atttypid, NULL), COALESCE(array_position(k.indkey::smallint[], c.attnum) + 1, 0)
			FROM pg_class t JOIN pg_attribute c ON c.attrelid = t.oid AND c.attnum > 0 AND NOT c.attisdropped
			LEFT JOIN pg_index k ON k.indrelid = t.oid AND k.indisprimary
			WHERE t.relkind = 'r' AND t.relnamespace = current_schema()::regnamespace`,
		Overriding:  `OVERRIDING SYSTEM VALUE `,
		ReadCounter: `SELECT COALESCE((SELECT last_value FROM pg_sequences WHERE schemaname = current_schema() AND sequencename = 'agents_id_seq'), 0)`,
		// A sequence starts with 1 and cannot be set to 0.
		SetCounter: []string{`SELECT setval(pg_get_serial_sequence('agents', 'id'), GREATEST($1::bigint, 1), $1::bigint > 0)`},
	}
}
