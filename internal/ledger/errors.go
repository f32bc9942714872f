// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"errors"
	"fmt"
)

var (
	// ErrUnavailable: the database is busy or cannot be reached. The condition is transient; retry.
	ErrUnavailable = errors.New("ledger unavailable")
	// ErrNeedsAttention: the database fails until a person acts. Retry occasionally to detect that.
	ErrNeedsAttention = errors.New("ledger needs attention")
	// ErrNotFound: there is no such agent or call, or it was pruned.
	ErrNotFound = errors.New("not in the ledger")
	// ErrPruned: the call exists, but its body was deleted because of its age.
	ErrPruned  = errors.New("deleted because of its age")
	ErrInvalid = errors.New("invalid")
	// ErrNoIntent: a result for a call that was never started, or that already has a result.
	ErrNoIntent = errors.New("no open intent")
	// ErrKeyTaken: an intent whose idempotency key is already in use.
	ErrKeyTaken = errors.New("idempotency key taken")
	// ErrSearchOff: the ledger has no index to search.
	ErrSearchOff = errors.New("search is off")
	// ErrClosed: the ledger was closed; waiting batches were not written.
	ErrClosed = errors.New("ledger closed")
)

// ConflictError means that another writer has appended first. The writer must load the agent again.
type ConflictError struct {
	// Agent is the UID of the agent, Seq the sequence number of the writer's first event.
	Agent string
	Seq   int64
	// LastSeq is the newest event of the agent shortly after the conflict; 0 if that could not be read.
	LastSeq int64
}

func (e *ConflictError) Error() string {
	return fmt.Sprintf("append event %d of agent %s: another writer is ahead, the newest event is %d: load the agent again",
		e.Seq, e.Agent, e.LastSeq)
}

// Reason is why the database failed, usable as the reason of a condition.
type Reason string

const (
	ReasonUnavailable   Reason = "LedgerUnavailable"
	ReasonFull          Reason = "LedgerFull"
	ReasonReadOnly      Reason = "LedgerReadOnly"
	ReasonCorrupt       Reason = "LedgerCorrupt"
	ReasonDenied        Reason = "LedgerDenied"
	ReasonMisconfigured Reason = "LedgerMisconfigured"
	ReasonSchemaTooNew  Reason = "LedgerSchemaTooNew"
	ReasonSchemaTooOld  Reason = "LedgerSchemaTooOld"
	ReasonIOError       Reason = "LedgerIOError"
	// ReasonMissing: the file of the ledger was deleted or replaced while it was open.
	ReasonMissing Reason = "LedgerMissing"
	// ReasonQuota: the namespace has reached its ledger quota. It is the only reason that concerns a single namespace.
	ReasonQuota Reason = "LedgerQuota"
	// ReasonFailed: a failure that the driver cannot classify.
	ReasonFailed Reason = "LedgerFailed"
)

// Advice returns text for people about what to do.
func (r Reason) Advice() string {
	switch r {
	case ReasonUnavailable:
		return "it is retried automatically; check that the database is running and reachable"
	case ReasonFull:
		return "free space or enlarge the volume; work continues automatically"
	case ReasonReadOnly:
		return "make the database writable for the operator; work continues automatically"
	case ReasonCorrupt:
		return "stop the operator and restore the database from a backup"
	case ReasonDenied:
		return "check the user, the password and the privileges of the connection string"
	case ReasonMisconfigured:
		return "check the connection string"
	case ReasonSchemaTooNew:
		return "run the newer operator again, or restore the backup from before its upgrade"
	case ReasonSchemaTooOld:
		return "start over: move the ledger away or use an empty database, and delete the chats and tasks, whose histories were in it; " +
			"for the demo, run make demo-clean"
	case ReasonIOError:
		return "check the volume of the database"
	case ReasonQuota:
		return "raise --ledger-namespace-quota, or wait until retention deletes old histories; work continues automatically"
	case ReasonMissing:
		return "the file was deleted or replaced while the operator was running: put the same file back, or restore a backup and restart the operator"
	}
	return "see the cause"
}

// Error is a failure of the database. It never contains secrets of the connection string.
type Error struct {
	// Ledger is the name of the ledger, Op the operation.
	Ledger string
	Op     string
	Reason Reason
	// Err is the cause as reported by the database. It does not wrap driver errors, because they may contain secrets.
	Err error
}

func (e *Error) Error() string {
	return fmt.Sprintf("%s: ledger %s: %v (%s)", e.Op, e.Ledger, e.Err, e.Reason.Advice())
}

func (e *Error) Unwrap() error { return e.Err }

// Is reports whether the reason is one of ErrUnavailable or ErrNeedsAttention.
func (e *Error) Is(target error) bool {
	switch target {
	case ErrUnavailable:
		return e.Reason == ReasonUnavailable
	case ErrNeedsAttention:
		return e.Reason != ReasonUnavailable && e.Reason != ReasonFailed
	}
	return false
}
