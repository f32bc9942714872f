// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/cli/narrate"
	"github.com/nestor-dev/nestor/internal/cli/terminal"
	"github.com/nestor-dev/nestor/internal/client/follow"
	"github.com/nestor-dev/nestor/internal/shorten"
	"github.com/nestor-dev/nestor/internal/view"
)

// waitForTask waits until a standalone task has ended, prints the result and returns an error with the matching exit
// code.
func (s *session) waitForTask(ctx context.Context, task *v1beta1.AgentTask, flags *printFlags) error {
	ended, err := s.awaitTask(ctx, task)
	if err != nil {
		return err
	}
	return s.printOutcome(ended, flags)
}

// awaitTask waits until a standalone task has ended, and returns it.
func (s *session) awaitTask(ctx context.Context, task *v1beta1.AgentTask) (*v1beta1.AgentTask, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	snapshots, err := follow.Watch(ctx, s.cluster(), follow.Scope{Namespace: s.namespace, Standalone: true})
	if err != nil {
		return nil, err
	}
	watch := taskWatch{s: s, printed: map[string]bool{}}
	problems, printer := s.watchProblems(ctx), problemPrinter{s: s}
	for {
		var now view.Snapshot
		var open bool
		select {
		case list, more := <-problems:
			if !more {
				problems = nil
			}
			printer.print(list)
			continue
		case now, open = <-snapshots:
		}
		if !open {
			return nil, context.Cause(ctx)
		}
		node := view.Find(now.Tree(""), task.Name)
		if node == nil {
			return nil, exitf(exitCancelled, "task %s was deleted before it ended", task.Name)
		}
		if node.Ended() {
			return &node.Task, nil
		}
		watch.print(now, node)
	}
}

// taskWatch prints notices about a running task, each of them once.
type taskWatch struct {
	s       *session
	printed map[string]bool
}

func (w taskWatch) print(now view.Snapshot, node *view.Node) {
	for _, ask := range now.Asks("") {
		if view.Find([]*view.Node{node}, ask.Task) == nil {
			continue
		}
		if ask.Kind == v1beta1.WaitingQuestion {
			w.printOnce(ask.Key(), "%s (%s) asks: %s\n  %s", ask.Task, ask.Role, terminal.Clean(ask.Question), narrate.Hint(ask))
			continue
		}
		w.printOnce(ask.Key(), "%s (%s) wants to run %s %s\n  %s", ask.Task, ask.Role, terminal.Line(ask.Tool), terminal.Line(terminal.JSON(ask.Arguments)), narrate.Hint(ask))
	}
	w.printWaitStates(node)
}

// printWaitStates prints what a task and its descendants wait for.
func (w taskWatch) printWaitStates(node *view.Node) {
	if still := node.WaitState(); still != nil {
		w.printOnce(node.Task.Name+still.Reason, "%s (%s) %s", node.Task.Name, node.Role(), terminal.Line(still.String()))
	}
	for _, child := range node.Children {
		w.printWaitStates(child)
	}
}

func (w taskWatch) printOnce(key, format string, args ...any) {
	if !w.printed[key] {
		w.printed[key] = true
		w.s.noticef(format, args...)
	}
}

// printOutcome prints the result of a task and returns an error with the matching exit code.
func (s *session) printOutcome(task *v1beta1.AgentTask, flags *printFlags) error {
	if flags.format != "" {
		if err := s.print(flags, task); err != nil {
			return err
		}
	} else if result := task.Status.Result; result != nil {
		s.printResult(task.Name, result)
	}
	if task.Status.Phase == v1beta1.TaskSuccess {
		return nil
	}
	code, phrase := exitFailed, "failed"
	if task.Status.Phase == v1beta1.TaskCancelled {
		code, phrase = exitCancelled, "was cancelled"
	}
	if e := task.Status.Error; e != nil && e.Kind != v1beta1.ErrorCancelled {
		phrase += ": " + string(e.Kind) + ": " + terminal.Line(e.Message)
	}
	return exitf(code, "task %s %s", task.Name, phrase)
}

func (s *session) printResult(name string, result *v1beta1.TaskResult) {
	for i, part := range []string{result.Summary, result.Details} {
		if part == "" {
			continue
		}
		if i > 0 && result.Summary != "" {
			fmt.Fprintln(s.Out)
		}
		fmt.Fprintln(s.Out, strings.TrimRight(terminal.Clean(part), "\n"))
	}
	s.printData(name, result)
	for _, warning := range result.Warnings {
		s.noticef("warning: %s", terminal.Line(warning))
	}
	if strings.HasSuffix(result.Summary, shorten.Ellipsis) || strings.HasSuffix(result.Details, shorten.Ellipsis) {
		s.noticef("the result is truncated; `kubectl nestor transcript %s` prints all of it", name)
	}
}

// printData prints the structured part of a result as JSON.
func (s *session) printData(name string, result *v1beta1.TaskResult) {
	if result.DataOmitted {
		s.noticef("the data of the result is too large for the task's status; `kubectl nestor transcript %s -o json` prints it", name)
	}
	if result.Data == nil {
		return
	}
	var pretty bytes.Buffer
	if json.Indent(&pretty, result.Data.Raw, "", "  ") != nil {
		return
	}
	fmt.Fprintf(s.Out, "\n%s\n", terminal.Clean(terminal.JSON(pretty.Bytes())))
}
