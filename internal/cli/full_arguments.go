// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"

	historyv1 "github.com/nestor-dev/nestor/api/history/v1beta1"
	"github.com/nestor-dev/nestor/internal/client/history"
	"github.com/nestor-dev/nestor/internal/view"
)

// errFound stops the reading of a transcript.
var errFound = errors.New("found")

// fullArguments returns an ask with the full arguments of its call, of which the status has only the beginning. It returns an
// error if they do not match the digest that the operator published.
func (s *session) fullArguments(ctx context.Context, ask view.Ask) (view.Ask, error) {
	if !ask.Truncated {
		return ask, nil
	}
	kind, about := "SubAgent", ask
	if ask.Call == "" { // the call of a tool run has the name of its task
		kind, about.Call = "AgentTask", ask.Task
	}
	full := ask
	err := s.history().Log(ctx, historyv1.TranscriptName(kind, ask.Task), history.Query{}, func(e historyv1.Entry) error {
		for _, c := range e.ToolCalls {
			if !about.IsAbout(c.ID, c.Tool) || c.Arguments == "" {
				continue
			}
			whole, ok := ask.WithArguments(c.Arguments)
			if ok {
				full = whole
				return errFound
			}
		}
		return nil
	})
	switch {
	case errors.Is(err, errFound):
		return full, nil
	case err == nil:
		err = errors.New("the call is not in the history")
	}
	return ask, fmt.Errorf("not approved: the call is too long for the status, and the full arguments cannot be read: %w; "+
		"`kubectl nestor doctor` shows why; `kubectl nestor deny %s` does not need them", err, ask.Task)
}
