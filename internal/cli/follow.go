// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/nestor-dev/nestor/api/v1alpha1"
	"github.com/nestor-dev/nestor/internal/cli/narrate"
	"github.com/nestor-dev/nestor/internal/cli/terminal"
	"github.com/nestor-dev/nestor/internal/client/live"
	"github.com/nestor-dev/nestor/internal/health"
)

// quietTime is how long a chat must look idle before it counts as idle: its status is written a moment after a
// message was handled.
const quietTime = 3 * time.Second

// exchange is a message to a chat and the work that follows from it.
type exchange struct {
	s           *session
	chat        string
	snapshots   <-chan live.Snapshot
	now         live.Snapshot // the newest
	message     *v1alpha1.AgentMessage
	known       map[string]bool // names of the messages up to and including this one
	warned      map[string]bool // warnings that were printed, by object and reason
	problems    <-chan []health.Problem
	printer     problemPrinter
	followed    bool // the person sees each ask at once, so waits are reported when nothing continues without them
	historyLost bool // the chat had lost its history when the message was sent
}

// openExchange starts a watch on a chat.
func (s *session) openExchange(ctx context.Context, chat string) (*exchange, error) {
	snapshots, err := live.Watch(ctx, s.cluster(), live.Scope{Namespace: s.namespace, Chat: chat})
	if err != nil {
		return nil, err
	}
	e := &exchange{s: s, chat: chat, snapshots: snapshots, warned: map[string]bool{}, problems: s.watchProblems(ctx), printer: problemPrinter{s: s}}
	return e, e.next(ctx)
}

// next waits for the next snapshot.
func (e *exchange) next(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case snapshot, open := <-e.snapshots:
		if !open {
			return context.Cause(ctx)
		}
		e.now = snapshot
	}
	return nil
}

// send posts a message to the chat.
func (e *exchange) send(ctx context.Context, spec v1alpha1.AgentMessageSpec) (err error) {
	spec.Chat = e.chat
	e.historyLost = readyReason(e.now.Chat(e.chat)) == v1alpha1.ReasonHistoryLost
	e.known = map[string]bool{}
	for _, m := range e.now.Messages {
		e.known[m.Name] = true
	}
	if e.message, err = e.s.post(ctx, spec); err == nil {
		e.known[e.message.Name] = true
	}
	return err
}

// finish waits until the chat has handled the message, and calls emit with every snapshot until then.
func (e *exchange) finish(ctx context.Context, emit func(live.Snapshot)) (live.Progress, error) {
	quiet := time.NewTimer(quietTime)
	defer quiet.Stop()
	for {
		emit(e.now)
		progress := e.now.ProgressOf(e.chat, e.message.Name, len(e.known))
		switch progress {
		case live.Working:
			if needsRepair(readyReason(e.now.Chat(e.chat))) {
				return live.Failed, nil
			}
			e.printWarnings()
			quiet.Stop()
		case live.Quiet:
			quiet.Reset(quietTime)
		case live.NeedsPerson:
			if !e.followed || !e.now.Continues(e.chat) {
				return progress, nil
			}
			quiet.Stop()
		default:
			return progress, nil
		}
		select {
		case <-ctx.Done():
			return progress, context.Cause(ctx)
		case <-quiet.C:
			return e.quietProgress(), nil
		case now, open := <-e.problems:
			e.showProblems(now, open)
		case snapshot, open := <-e.snapshots:
			if !open {
				return progress, context.Cause(ctx)
			}
			e.now = snapshot
		}
	}
}

// showProblems prints problems that began or ended.
func (e *exchange) showProblems(now []health.Problem, open bool) {
	if !open {
		e.problems = nil
		return
	}
	e.printer.print(now)
}

// quietProgress returns the progress of a chat that has been quiet for quietTime.
func (e *exchange) quietProgress() live.Progress {
	chat := e.now.Chat(e.chat)
	if chat == nil {
		return live.Answered
	}
	if still, ok := live.StandstillOf(chat.Status.Conditions); ok && still.Paused {
		return live.Paused
	}
	if chat.Status.Phase == v1alpha1.ChatWaiting {
		return live.NeedsPerson
	}
	return live.Answered
}

// printWarnings prints, once for each reason, why a chat does not handle the message or what its work waits for.
func (e *exchange) printWarnings() {
	chat := e.now.Chat(e.chat)
	if chat == nil {
		return
	}
	if still, ok := live.StandstillOf(chat.Status.Conditions); ok && !still.Paused {
		e.printOnce(e.chat+still.Reason, "chat %s %s", e.chat, terminal.Line(still.String()))
	} else if reason := notReadyMessage(chat); reason != "" {
		e.printOnce(e.chat, "chat %s is not ready: %s", e.chat, reason)
	}
	for _, task := range e.now.Tasks {
		if node := live.Find(e.now.Tree(e.chat), task.Name); node != nil {
			if still, ok := node.Standstill(); ok {
				e.printOnce(task.Name+still.Reason, "%s (%s) %s", task.Name, node.Role(), terminal.Line(still.String()))
			}
		}
	}
}

func (e *exchange) printOnce(key, format string, args ...any) {
	if !e.warned[key] {
		e.warned[key] = true
		e.s.noticef(format, args...)
	}
}

// readyReason returns the reason of the chat's Ready condition.
func readyReason(chat *v1alpha1.AgentChat) string {
	if chat == nil {
		return ""
	}
	if c := meta.FindStatusCondition(chat.Status.Conditions, v1alpha1.ConditionReady); c != nil {
		return c.Reason
	}
	return ""
}

// needsRepair reports whether a person must repair the ledger. A ledger that merely does not respond may recover
// by itself.
func needsRepair(reason string) bool {
	return strings.HasPrefix(reason, "Ledger") && reason != v1alpha1.ReasonLedgerUnavailable
}

// notReadyMessage returns why a chat is not ready, or "".
func notReadyMessage(chat *v1alpha1.AgentChat) string {
	c := meta.FindStatusCondition(chat.Status.Conditions, v1alpha1.ConditionReady)
	if c == nil || c.Status != "False" {
		return ""
	}
	return c.Reason + ": " + c.Message
}

// exitError returns the error, with its exit code, for the way a chat handled a message.
func (e *exchange) exitError(progress live.Progress) error {
	switch progress {
	case live.NeedsPerson:
		asks := e.now.Asks(e.chat)
		if len(asks) == 0 {
			return exitf(exitWaiting, "the chat waits for a person: open it with `kubectl nestor chat %s`", e.chat)
		}
		return exitf(exitWaiting, "the chat waits for a person%s", hintsOf(asks))
	case live.Rejected:
		return rejectionError(e.now.Message(e.message.Name))
	case live.Failed:
		return exitf(exitFailed, "the chat cannot continue: %s", notReadyMessage(e.now.Chat(e.chat)))
	case live.Paused:
		still, _ := live.StandstillOf(e.now.Chat(e.chat).Status.Conditions)
		return exitf(exitPaused, "chat %s is %s", e.chat, terminal.Line(still.String()))
	case live.Deleted:
		return exitf(exitCancelled, "chat %s was deleted", e.chat)
	}
	if e.historyLost {
		return exitf(exitFailed, "the ledger lost the history of chat %s: the message started a new conversation without the earlier messages", e.chat)
	}
	return nil
}

// hintsOf returns what to type for each ask, as the end of a sentence.
func hintsOf(asks []live.Ask) string {
	if len(asks) == 1 {
		return "; " + narrate.Hint(asks[0])
	}
	text, seen := fmt.Sprintf(" (%d requests):", len(asks)), map[string]bool{}
	for _, ask := range asks {
		if hint := narrate.Hint(ask); !seen[hint] {
			seen[hint] = true
			text += "\n  " + ask.Task + " (" + ask.Role + ") " + hint
		}
	}
	return text
}

// answers returns the messages that agents posted since the message was sent.
func (e *exchange) answers() []v1alpha1.AgentMessage {
	var messages []v1alpha1.AgentMessage
	for _, m := range e.now.Messages {
		if m.Spec.Role != v1alpha1.RoleUser && !e.known[m.Name] {
			messages = append(messages, m)
		}
	}
	return messages
}

// explainTimeout adds to a timeout what the command waited for.
func explainTimeout(err error, what string) error {
	if errors.Is(err, errTimeout) {
		return exitf(exitTimeout, "%s: %w", what, err)
	}
	return err
}
