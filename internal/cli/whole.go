// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"

	historyv1 "github.com/nestor-dev/nestor/api/history/v1alpha1"
	"github.com/nestor-dev/nestor/internal/cli/history"
	"github.com/nestor-dev/nestor/internal/cli/live"
)

// errFound ends the reading of a transcript.
var errFound = errors.New("found")

// whole returns an ask with the whole arguments of its call, which the status has only the beginning of. What it returns has the digest that
// the operator gave the call, or it is an error.
func (s *session) whole(ctx context.Context, ask live.Ask) (live.Ask, error) {
	if !ask.Cut {
		return ask, nil
	}
	kind, call := "SubAgent", ask.Call
	if call == "" { // a task of type Tool is one call, of its own name
		kind, call = "AgentTask", ask.Task
	}
	found := ask
	err := s.history().Log(ctx, historyv1.TranscriptName(kind, ask.Task), history.Query{}, func(e historyv1.Entry) error {
		for _, c := range e.ToolCalls {
			if c.ID != call || c.Arguments == "" {
				continue
			}
			whole, ok := ask.WithArguments(c.Arguments)
			if ok {
				found = whole
				return errFound
			}
		}
		return nil
	})
	switch {
	case errors.Is(err, errFound):
		return found, nil
	case err == nil:
		err = errors.New("the history does not have it")
	}
	return ask, fmt.Errorf("not approved: the call is too long to be shown from the status, and all of it cannot be read: %w. "+
		"`kubectl nestor doctor` tells why; `kubectl nestor deny %s` needs no look at it", err, ask.Task)
}
