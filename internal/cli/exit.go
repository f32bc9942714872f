// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/nestor-dev/nestor/internal/client/kube"
)

// Exit codes.
const (
	exitOK        = 0
	exitError     = 1 // the command itself failed
	exitUsage     = 2 // wrong usage
	exitFailed    = 3 // the agents' work failed, or a check of the doctor did
	exitCancelled = 4 // the work was cancelled
	exitWaiting   = 5 // the work waits for a person
	exitTimeout   = 6 // --timeout expired
	exitPaused    = 7 // the chat has reached a limit and is paused
)

// Exit codes of a command that compares. They are those of kubectl diff: everything above 1 is an error.
const (
	exitDifferent   = 1
	exitNotCompared = 3 // the command itself failed
)

// exitCodes is the part of the help about exit codes that several commands share.
const exitCodes = `Exit codes: 0 success; 1 the command itself failed; 2 wrong usage; 3 the work failed; 4 it was cancelled; 5 it waits for a
person; 6 --timeout expired; 7 the chat has reached a limit and is paused until a person writes.`

// exitStatus is an error with its own exit code.
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
var errTimeout = &exitStatus{exitTimeout, errors.New("--timeout expired")}

// errDifferent ends a command that compares and found a difference, which it has printed.
var errDifferent = &exitStatus{exitDifferent, errors.New("there are differences")}

func exitCode(err error) int {
	var status *exitStatus
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &status):
		return status.code
	case errors.Is(err, context.Canceled):
		return 130 // the shell's exit code after Ctrl-C
	}
	return exitError
}

// explain adds advice to an error of the API server.
func explain(err error) error {
	switch {
	case err == nil:
		return nil
	case kube.IsNoSuchAPI(err):
		return fmt.Errorf("the cluster does not have Nestor's resources (%w): install Nestor, or select another cluster with --context; `kubectl nestor doctor` has details", err)
	case apierrors.IsForbidden(err) && strings.Contains(err.Error(), " at the cluster scope"):
		return fmt.Errorf("%w: without -A, one namespace is enough; or ask an administrator of the cluster for the permission", err)
	case apierrors.IsForbidden(err):
		return fmt.Errorf("%w: ask an administrator of the namespace for the permission, or use another namespace with -n; `kubectl nestor doctor` lists what is missing", err)
	case apierrors.IsUnauthorized(err):
		return fmt.Errorf("the cluster does not accept your credentials (%w): log in again, or use another --context", err)
	}
	return explainUnreachable(err)
}

// explainUnreachable adds advice to the error of a request that did not reach the cluster.
func explainUnreachable(err error) error {
	var failed *url.Error
	if !errors.As(err, &failed) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	server, bad := url.Parse(failed.URL)
	if bad != nil {
		return err
	}
	const advice = "`kubectl nestor doctor` has details, and `. .demo/use.sh` selects the cluster of `make demo`"
	if server.Host == "localhost:8080" { // the default of client-go
		return fmt.Errorf("no cluster is configured (%w): set KUBECONFIG or use --kubeconfig; %s", failed.Err, advice)
	}
	return fmt.Errorf("the cluster at %s://%s cannot be reached (%w): start it, or select another one with --context; %s", server.Scheme, server.Host, failed.Err, advice)
}
