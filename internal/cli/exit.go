// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/nestor-dev/nestor/internal/cli/live"
)

// What the exit code tells.
const (
	exitOK        = 0
	exitError     = 1 // the command could not do what it was asked
	exitUsage     = 2 // it was called in a wrong way
	exitFailed    = 3 // the agents' work failed, or a check of the doctor did
	exitCancelled = 4 // the work was cancelled
	exitWaiting   = 5 // the work waits for a person
	exitTimeout   = 6 // the time that --timeout allows is over
	exitPaused    = 7 // the chat has reached a limit and is paused
)

// exitCodes is the help on exit codes, which several commands have in common.
const exitCodes = `Exit codes: 0 success; 1 the command itself failed; 2 wrong usage; 3 the work failed; 4 it was cancelled; 5 it waits for a
person; 6 the time given with --timeout is over; 7 the chat has reached a limit and is paused until a person writes.`

// exitStatus is an error with an exit code of its own.
type exitStatus struct {
	code int
	err  error
}

func (e *exitStatus) Error() string { return e.err.Error() }
func (e *exitStatus) Unwrap() error { return e.err }

func exitf(code int, format string, args ...any) error {
	return &exitStatus{code, fmt.Errorf(format, args...)}
}

func usagef(format string, args ...any) error { return exitf(exitUsage, format, args...) }

// errTimeout is the cause of a context that --timeout ended.
var errTimeout = &exitStatus{exitTimeout, errors.New("the time given with --timeout is over")}

// codeOf is the exit code for an error.
func codeOf(err error) int {
	var status *exitStatus
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &status):
		return status.code
	case errors.Is(err, context.Canceled):
		return 130 // as the shell says of what Ctrl-C ended
	}
	return exitError
}

// explain adds to an error of the API server what the user can do about it.
func explain(err error) error {
	switch {
	case err == nil:
		return nil
	case live.NoSuchAPI(err):
		return fmt.Errorf("the cluster does not know Nestor's resources (%w): install Nestor, or look at another cluster with --context; `kubectl nestor doctor` tells more", err)
	case apierrors.IsForbidden(err):
		return fmt.Errorf("%w: ask whoever administers the namespace for the right, or use another one with -n; `kubectl nestor doctor` lists what is missing", err)
	case apierrors.IsUnauthorized(err):
		return fmt.Errorf("the cluster does not accept your credentials (%w): log in again, or use another --context", err)
	}
	return err
}
