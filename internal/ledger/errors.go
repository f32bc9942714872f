// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"errors"
	"fmt"
)

// The errors that callers tell apart with errors.Is.
var (
	// ErrUnavailable: the database cannot be reached or is busy. It passes; try again.
	ErrUnavailable = errors.New("ledger unavailable")
	// ErrNeedsAttention: the database refuses until a person acts. Trying again now and then notices that they did.
	ErrNeedsAttention = errors.New("ledger needs attention")
	// ErrNotFound: there is no such agent or call, or retention has taken it.
	ErrNotFound = errors.New("not in the ledger")
	// ErrPruned: the call is there, but its body was deleted because of its age.
	ErrPruned = errors.New("deleted because of its age")
	// ErrInvalid: the caller asked for something that no ledger can do.
	ErrInvalid = errors.New("invalid")
	// ErrNoIntent: a result for a call that was never started, or that has its result already.
	ErrNoIntent = errors.New("no open intent")
	// ErrKeyTaken: an intent under an idempotency key that is in use.
	ErrKeyTaken = errors.New("idempotency key taken")
	// ErrClosed: the ledger was closed; what waited was not written.
	ErrClosed = errors.New("ledger closed")
)

// ConflictError says that another writer has appended first. The writer must load the agent again.
type ConflictError struct {
	// Agent is the UID of the agent, Seq the sequence that the writer wanted for its first event.
	Agent string
	Seq   int64
	// LastSeq is the newest event of the agent shortly after the conflict; 0 if that could not be read.
	LastSeq int64
}

// Error implements error.
func (e *ConflictError) Error() string {
	return fmt.Sprintf("append event %d of agent %s: another writer is ahead, the newest event is %d: load the agent again",
		e.Seq, e.Agent, e.LastSeq)
}

// Reason says why a database refuses, in a word that fits the reason of a condition.
type Reason string

// The reasons of an Error.
const (
	ReasonUnavailable   Reason = "LedgerUnavailable"
	ReasonFull          Reason = "LedgerFull"
	ReasonReadOnly      Reason = "LedgerReadOnly"
	ReasonCorrupt       Reason = "LedgerCorrupt"
	ReasonDenied        Reason = "LedgerDenied"
	ReasonMisconfigured Reason = "LedgerMisconfigured"
	ReasonSchemaTooNew  Reason = "LedgerSchemaTooNew"
	ReasonIOError       Reason = "LedgerIOError"
	// ReasonMissing: the file of the ledger was deleted or replaced while it was open.
	ReasonMissing Reason = "LedgerMissing"
	// ReasonQuota: the namespace has filled its share of the ledger. It is the only reason that concerns one namespace alone.
	ReasonQuota Reason = "LedgerQuota"
	// ReasonFailed is a failure that the driver does not know.
	ReasonFailed Reason = "LedgerFailed"
)

// Advice tells a person what to do about the reason.
func (r Reason) Advice() string {
	switch r {
	case ReasonUnavailable:
		return "it is tried again; check that the database runs and can be reached"
	case ReasonFull:
		return "free space or enlarge the volume; work goes on by itself"
	case ReasonReadOnly:
		return "make the database writable for the operator; work goes on by itself"
	case ReasonCorrupt:
		return "stop the operator and restore the database from a backup"
	case ReasonDenied:
		return "check the user, the password and the privileges of the connection string"
	case ReasonMisconfigured:
		return "check the connection string"
	case ReasonSchemaTooNew:
		return "run the newer operator again, or restore the backup from before its upgrade"
	case ReasonIOError:
		return "check the volume of the database"
	case ReasonQuota:
		return "raise --ledger-namespace-quota, or let the retention delete old histories; work goes on by itself"
	case ReasonMissing:
		return "the file was deleted or replaced while the operator was running: put the same file back, or restore a backup and restart the operator"
	}
	return "see the cause"
}

// Error is a failure of the database. It never carries a secret of the connection string.
type Error struct {
	// Ledger is the name of the ledger, Op what was attempted.
	Ledger string
	Op     string
	Reason Reason
	// Err is the cause in the database's words. Driver errors are not in its chain, as they may hold secrets.
	Err error
}

// Error implements error.
func (e *Error) Error() string {
	return fmt.Sprintf("%s: ledger %s: %v (%s)", e.Op, e.Ledger, e.Err, e.Reason.Advice())
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// Is makes an Error an ErrUnavailable or an ErrNeedsAttention, by its reason.
func (e *Error) Is(target error) bool {
	switch target {
	case ErrUnavailable:
		return e.Reason == ReasonUnavailable
	case ErrNeedsAttention:
		return e.Reason != ReasonUnavailable && e.Reason != ReasonFailed
	}
	return false
}
