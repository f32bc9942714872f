// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"slices"

	"github.com/nestor-dev/nestor/internal/cli/terminal"
	"github.com/nestor-dev/nestor/internal/health"
)

// watchProblems reports what keeps agents from working, whenever that changes.
func (s *session) watchProblems(ctx context.Context) <-chan []health.Problem {
	tables, err := health.NewTables(s.config)
	if err != nil {
		tables = nil // the complete objects can be read as well
	}
	return health.Namespace{API: s.api, Tables: tables, Name: s.namespace, Heartbeat: &health.Observer{}}.Watch(ctx)
}

// problemPrinter prints problems when they begin and end. What the work itself waits for is printed with the work.
type problemPrinter struct {
	s     *session
	shown []health.Problem
}

func (p *problemPrinter) print(now []health.Problem) {
	now = slices.DeleteFunc(slices.Clone(now), func(problem health.Problem) bool {
		return problem.Severity != health.Error || !problem.OfInstallation()
	})
	for _, problem := range now {
		if !hasProblem(p.shown, problem) {
			p.s.noticef("problem: %s %s", terminal.Line(problem.Message), terminal.Line(problem.Todo))
		}
	}
	for _, problem := range p.shown {
		if !hasProblem(now, problem) {
			p.s.noticef("solved: %s", terminal.Line(problem.Message))
		}
	}
	p.shown = now
}

func hasProblem(list []health.Problem, problem health.Problem) bool {
	return slices.ContainsFunc(list, func(other health.Problem) bool { return other.Key() == problem.Key() })
}

func problemLines(list []health.Problem) []string {
	var lines []string
	for _, problem := range list {
		if problem.OfInstallation() {
			lines = append(lines, problem.Message+" "+problem.Todo)
		}
	}
	return lines
}
