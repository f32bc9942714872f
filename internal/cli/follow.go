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

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/cli/narrate"
	"github.com/nestor-dev/nestor/internal/cli/terminal"
	"github.com/nestor-dev/nestor/internal/client/follow"
	"github.com/nestor-dev/nestor/internal/health"
	"github.com/nestor-dev/nestor/internal/view"
)

// quietTime is how long a chat must look idle before it counts as idle: its status is written a moment after a
// message was handled.
const quietTime = 3 * time.Second

// exchange is a message to a chat and the work that follows from it.
type exchange struct {
	s           *session
	chat        string
	snapshots   <-chan view.Snapshot
	now         view.Snapshot // the newest
	message     *v1beta1.AgentMessage
	known       map[string]bool // names of the messages up to and including this one
	warned      map[string]bool // warnings that were printed, by object and reason
	problems    <-chan []health.Problem
	printer     problemPrinter
	followed    bool // the person sees each ask at once, so waits are reported when nothing continues without them
	historyLost bool // the chat had lost its history when the message was sent
}

// openExchange starts a watch on a chat.
func (s *session) openExchange(ctx context.Context, chat string) (*exchange, error) {
	snapshots, err := follow.Watch(ctx, s.cluster(), follow.Scope{Namespace: s.namespace, Chat: chat})
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
func (e *exchange) send(ctx context.Context, spec v1beta1.AgentMessageSpec) (err error) {
	spec.Chat = e.chat
	e.historyLost = readyReason(e.now.Chat(e.chat)) == v1beta1.ReasonHistoryLost
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
func (e *exchange) finish(ctx context.Context, emit func(view.Snapshot)) (view.Progress, error) {
	quiet := time.NewTimer(quietTime)
	defer quiet.Stop()
	for {
		emit(e.now)
		progress := e.now.ProgressOf(e.chat, e.message.Name, len(e.known))
		switch progress {
		case view.Working:
			if needsRepair(view.OfChat(e.now.Chat(e.chat))) {
				return view.Failed, nil
			}
			e.printWarnings()
			quiet.Stop()
		case view.Quiet:
			quiet.Reset(quietTime)
		case view.NeedsPerson:
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
func (e *exchange) quietProgress() view.Progress {
	chat := e.now.Chat(e.chat)
	if chat == nil {
		return view.Answered
	}
	if view.OfChat(chat).Is(view.WaitStatePaused) {
		return view.Paused
	}
	if chat.Status.Phase == v1beta1.ChatWaiting {
		return view.NeedsPerson
	}
	return view.Answered
}

// printWarnings prints, once for each reason, why a chat does not handle the message or what its work waits for.
func (e *exchange) printWarnings() {
	chat := e.now.Chat(e.chat)
	if chat == nil {
		return
	}
	switch still := view.OfChat(chat); {
	case still.Is(view.WaitStateBlocked):
		e.printOnce(e.chat, "chat %s is not ready: %s", e.chat, still.Condition())
	case still != nil && still.Kind != view.WaitStatePaused:
		e.printOnce(e.chat+still.Reason, "chat %s %s", e.chat, terminal.Line(still.String()))
	}
	for _, task := range e.now.Tasks {
		if node := view.Find(e.now.Tree(e.chat), task.Name); node != nil {
			if still := node.WaitState(); still != nil {
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

func readyReason(chat *v1beta1.AgentChat) string {
	if chat == nil {
		return ""
	}
	if c := meta.FindStatusCondition(chat.Status.Conditions, v1beta1.ConditionReady); c != nil {
		return c.Reason
	}
	return ""
}

// needsRepair reports whether a person must repair the ledger.
func needsRepair(still *view.WaitState) bool {
	return still.Is(view.WaitStateBlocked) && strings.HasPrefix(still.Reason, "Ledger")
}

// exitError returns the error, with its exit code, for the way a chat handled a message.
func (e *exchange) exitError(progress view.Progress) error {
	switch progress {
	case view.NeedsPerson:
		asks := e.now.Asks(e.chat)
		if len(asks) == 0 {
			return exitf(exitWaiting, "the chat waits for a person: open it with `kubectl nestor chat %s`", e.chat)
		}
		return exitf(exitWaiting, "the chat waits for a person%s", hintsOf(asks))
	case view.Rejected:
		return rejectionError(e.now.Message(e.message.Name))
	case view.Failed:
		return exitf(exitFailed, "the chat cannot continue: %s", view.OfChat(e.now.Chat(e.chat)).Condition())
	case view.Paused:
		return exitf(exitPaused, "chat %s is %s", e.chat, terminal.Line(view.OfChat(e.now.Chat(e.chat)).String()))
	case view.Deleted:
		return exitf(exitCancelled, "chat %s was deleted", e.chat)
	}
	if e.historyLost {
		return exitf(exitFailed, "the ledger lost the history of chat %s: the message started a new conversation without the earlier messages", e.chat)
	}
	return nil
}

// hintsOf returns what to type for each ask, as the end of a sentence.
func hintsOf(asks []view.Ask) string {
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
func (e *exchange) answers() []v1beta1.AgentMessage {
	var messages []v1beta1.AgentMessage
	for _, m := range e.now.Messages {
		if m.Spec.Role != v1beta1.RoleUser && !e.known[m.Name] {
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
