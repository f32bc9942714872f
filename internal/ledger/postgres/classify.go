// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"
	"net"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/nestor-dev/nestor/internal/ledger"
)

func (d *database) Classify(err error) (ledger.Reason, string) {
	reason := classify(err)
	var connect *pgconn.ConnectError
	if errors.As(err, &connect) {
		// Its text repeats the user and the database, and each attempt on a separate line.
		err = connect.Unwrap()
	}
	return reason, d.redact(strings.ReplaceAll(err.Error(), "\n", "; "))
}

func classify(err error) ledger.Reason {
	if err == nil {
		return ""
	}
	var server *pgconn.PgError
	if errors.As(err, &server) {
		return classifyCode(server.Code)
	}
	if isConnectionFailure(err) {
		return ledger.ReasonUnavailable
	}
	return ledger.ReasonFailed
}

func isConnectionFailure(err error) bool {
	var connect *pgconn.ConnectError
	var network net.Error
	if errors.As(err, &connect) || errors.As(err, &network) {
		return true
	}
	for _, target := range []error{
		context.DeadlineExceeded, io.EOF, io.ErrUnexpectedEOF, net.ErrClosed, driver.ErrBadConn, pgconn.ErrConnClosed,
	} {
		if errors.Is(err, target) {
			return true
		}
	}
	return pgconn.SafeToRetry(err)
}

// isServerFailure reports whether existing connections are useless: the server is gone, or was a standby when they were opened,
// so that they are read-only.
func isServerFailure(err error) bool {
	var server *pgconn.PgError
	if errors.As(err, &server) {
		return server.Code == "25006" || strings.HasPrefix(server.Code, "57P")
	}
	return isConnectionFailure(err)
}

// classifyCode classifies by SQLSTATE, whose first two characters are the class.
func classifyCode(code string) ledger.Reason {
	switch code {
	case "53100": // disk_full
		return ledger.ReasonFull
	case "25006": // read_only_sql_transaction
		return ledger.ReasonReadOnly
	case "3D000", "3F000": // invalid_catalog_name, invalid_schema_name
		return ledger.ReasonMisconfigured
	case "42501": // insufficient_privilege
		return ledger.ReasonDenied
	case "XX001", "XX002": // data_corrupted, index_corrupted
		return ledger.ReasonCorrupt
	case "58030": // io_error
		return ledger.ReasonIOError
	case "40001", "40P01", "55P03", "57014", "25P03": // serialization, deadlock, lock_not_available, query_canceled, idle_in_transaction_session_timeout
		return ledger.ReasonUnavailable
	}
	for class, reason := range map[string]ledger.Reason{
		"08": ledger.ReasonUnavailable, // connection exception
		"28": ledger.ReasonDenied,      // invalid authorization
		"53": ledger.ReasonUnavailable, // insufficient resources
		"57": ledger.ReasonUnavailable, // operator intervention: the server is stopping, starting or recovering
	} {
		if strings.HasPrefix(code, class) {
			return reason
		}
	}
	return ledger.ReasonFailed
}
