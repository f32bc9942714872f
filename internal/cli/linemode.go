// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/cli/chatui"
	"github.com/nestor-dev/nestor/internal/cli/narrate"
	"github.com/nestor-dev/nestor/internal/view"
)

type lineChat struct {
	*exchange
	actions  chatActions
	narrator *narrate.Narrator
	out      io.Writer
	changes  changesReader
	shown    map[string]bool // the calls whose changes have been printed
	quit     bool            // /quit was entered
}

// runLineMode reads messages from standard input, one per line, sends each when the previous one has been handled, and
// prints what happens. It returns the outcome of the last one.
func (s *session) runLineMode(ctx context.Context, chat string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	e, err := s.openExchange(ctx, chat)
	if err != nil {
		return err
	}
	c := &lineChat{exchange: e, actions: newChatActions(s, chat), narrator: narrate.New(chat), out: s.humanOutput(), changes: changesReader{s: s}, shown: map[string]bool{}}
	c.printNew(ctx, e.now)
	lines := readLines(ctx, s.In)
	var last error
	for !c.quit {
		line, err := c.readLine(ctx, lines)
		if errors.Is(err, io.EOF) {
			return last
		}
		if err != nil {
			return err
		}
		if strings.TrimSpace(line) == "" {
			continue
		}
		if last = c.handle(ctx, line); ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if last != nil && exitCode(last) != exitWaiting {
			s.noticef("error: %v", last)
		}
	}
	return last
}

// readLine waits for a line and meanwhile prints what happens.
func (c *lineChat) readLine(ctx context.Context, lines <-chan string) (string, error) {
	for {
		select {
		case <-ctx.Done():
			return "", context.Cause(ctx)
		case line, open := <-lines:
			if !open {
				return "", io.EOF
			}
			return line, nil
		case now, open := <-c.problems:
			c.showProblems(now, open)
		case now, open := <-c.snapshots:
			if !open {
				return "", context.Cause(ctx)
			}
			c.now = now
			c.printNew(ctx, now)
		}
	}
}

// handle runs the command on a line, or sends it, and waits until it has been handled.
func (c *lineChat) handle(ctx context.Context, line string) error {
	command, err := chatui.Parse(line, func(name string) bool { return c.now.Task(name) != nil })
	if err != nil {
		return err
	}
	spec := v1beta1.AgentMessageSpec{Content: command.Text}
	switch command.Verb {
	case "quit":
		c.quit = true
		return nil
	case "help":
		fmt.Fprintln(c.out, chatui.Help)
		return nil
	case "attach":
		return c.actions.Attach(command.Text)
	case "role", "model":
		return c.actions.Set(ctx, command.Verb, command.Text)
	case "new":
		return errors.New("/new needs the full screen: use `kubectl nestor new`")
	case "diff":
		return printWorkspaceDiff(ctx, c.s, []string{"chat/" + c.chat})
	case "approve", "deny":
		ask, found := c.pendingApproval(command.Task)
		if !found {
			return errors.New("no such call waits for approval")
		}
		decided := v1beta1.DecisionApprove
		if command.Verb == "deny" {
			decided = v1beta1.DecisionDeny
		}
		if err := c.s.checkMayDecide(ctx, ask); err != nil {
			return err
		}
		if ask.Truncated && decided == v1beta1.DecisionApprove {
			if ask, err = c.s.fullArguments(ctx, ask); err != nil {
				return err
			}
			fmt.Fprintln(c.out, exactCall(ask))
		}
		if decided == v1beta1.DecisionApprove {
			c.printChanges(ctx, ask)
		}
		spec = decisionMessage(ask, v1beta1.Approval{Decision: decided, Comment: command.Text})
	case "cancel":
		spec = v1beta1.AgentMessageSpec{Cancel: &v1beta1.Cancel{Task: command.Task}}
	default:
		spec.InReplyTo = c.pendingQuestion()
	}
	restore := func() {}
	if command.Verb == "say" {
		spec.Attachments, restore = c.actions.take()
	}
	if err := c.send(ctx, spec); err != nil {
		restore()
		return explain(err)
	}
	progress, err := c.finish(ctx, func(now view.Snapshot) { c.printNew(ctx, now) })
	if err != nil {
		return err
	}
	return c.exitError(progress)
}

// pendingQuestion returns the posted message with the open question, which the next message answers, or "".
func (c *lineChat) pendingQuestion() string {
	for _, ask := range c.now.Asks(c.chat) {
		if ask.Kind == v1beta1.WaitingQuestion {
			return ask.Message
		}
	}
	return ""
}

func (c *lineChat) pendingApproval(task string) (view.Ask, bool) {
	for _, ask := range c.now.Asks(c.chat) {
		if ask.Kind == v1beta1.WaitingApproval && (task == "" || ask.Task == task) {
			return ask, true
		}
	}
	return view.Ask{}, false
}

// printNew prints what is new in a snapshot. What a call would change follows the message that asks for its approval.
func (c *lineChat) printNew(ctx context.Context, now view.Snapshot) {
	for _, line := range c.narrator.Lines(now) {
		fmt.Fprintln(c.out, line)
	}
	c.changes.now = now
	for _, ask := range now.Asks(c.chat) {
		if ask.Kind == v1beta1.WaitingApproval && ask.Message != "" && !ask.Truncated {
			c.printChanges(ctx, ask)
		}
	}
}

// printChanges prints what a call would change, once.
func (c *lineChat) printChanges(ctx context.Context, ask view.Ask) {
	if key := ask.Key(); !c.shown[key] {
		c.shown[key] = true
		printBounded(c.out, c.changes.tryRead(ctx, ask), ask.Task)
	}
}

// readLines reads lines until the input or ctx ends. A read cannot be interrupted, so the goroutine may outlive ctx.
func readLines(ctx context.Context, in io.Reader) <-chan string {
	lines := make(chan string)
	go func() {
		defer close(lines)
		scanner := bufio.NewScanner(in)
		scanner.Buffer(nil, 1<<20)
		for scanner.Scan() {
			select {
			case lines <- scanner.Text():
			case <-ctx.Done():
				return
			}
		}
	}()
	return lines
}
