// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"context"
	"errors"
	"io/fs"
	"syscall"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/nestor-dev/nestor/internal/ledger"
)

// Classify implements sqlstore.Driver. A file path contains no secrets.
func (d *database) Classify(err error) (ledger.Reason, string) {
	if d.file != nil && d.missing() { // takes precedence over the error from SQLite
		return ledger.ReasonMissing, err.Error()
	}
	return classify(err), err.Error()
}

func classify(err error) ledger.Reason {
	var failure *sqlite.Error
	if errors.As(err, &failure) {
		return classifyCode(failure.Code())
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return ledger.ReasonUnavailable
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return ledger.ReasonReadOnly
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return ledger.ReasonFull
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.EISDIR), errors.Is(err, syscall.ENOTDIR):
		return ledger.ReasonMisconfigured
	case errors.Is(err, syscall.EIO):
		return ledger.ReasonIOError
	}
	return ledger.ReasonFailed
}

// classifyCode uses the primary code, which is the low byte of an extended one.
func classifyCode(code int) ledger.Reason {
	switch code & 0xff {
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL, sqlite3.SQLITE_INTERRUPT, sqlite3.SQLITE_NOMEM:
		return ledger.ReasonUnavailable
	case sqlite3.SQLITE_FULL:
		return ledger.ReasonFull
	case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM:
		return ledger.ReasonReadOnly
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		return ledger.ReasonCorrupt
	case sqlite3.SQLITE_CANTOPEN:
		return ledger.ReasonMisconfigured
	case sqlite3.SQLITE_IOERR:
		return ledger.ReasonIOError
	}
	return ledger.ReasonFailed
}

// isFileFailure reports whether a new connection may succeed. A full disk is not such a failure: the same connection works again
// when there is space.
func isFileFailure(err error) bool {
	if err == nil {
		return false
	}
	switch classify(err) {
	case ledger.ReasonReadOnly, ledger.ReasonCorrupt, ledger.ReasonMisconfigured, ledger.ReasonIOError:
		return true
	}
	return false
}
