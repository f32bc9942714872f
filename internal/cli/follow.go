// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/nestor-dev/nestor/api/v1alpha1"
	"github.com/nestor-dev/nestor/internal/cli/live"
	"github.com/nestor-dev/nestor/internal/cli/narrate"
	"github.com/nestor-dev/nestor/internal/cli/terminal"
)

// quietTime is how long a chat may look as if nothing went on before that is believed: its status is written a moment
// after a message was taken.
const quietTime = 3 * time.Second

// exchange is a message and what comes of it.
type exchange struct {
	s         *session
	chat      string
	snapshots <-chan live.Snapshot
	now       live.Snapshot // the newest
	message   *v1alpha1.AgentMessage
	before    map[string]bool // the messages that there were when it was sent, and itself
	warned    map[string]bool // why work does not go on, by object and reason
	lost      bool            // the chat had lost its history when the message was sent
}

// open begins to watch a chat.
func (s *session) open(ctx context.Context, chat string) (*exchange, error) {
	snapshots, err := live.Watch(ctx, s.cluster(), live.Scope{Namespace: s.namespace, Chat: chat})
	if err != nil {
		return nil, err
	}
	e := &exchange{s: s, chat: chat, snapshots: snapshots, warned: map[string]bool{}}
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

// send says something in the chat.
func (e *exchange) send(ctx context.Context, spec v1alpha1.AgentMessageSpec) (err error) {
	spec.Chat = e.chat
	e.lost = readyReason(e.now.Chat(e.chat)) == v1alpha1.ReasonHistoryLost
	e.before = map[string]bool{}
	for _, m := range e.now.Messages {
		e.before[m.Name] = true
	}
	if e.message, err = e.s.post(ctx, spec); err == nil {
		e.before[e.message.Name] = true
	}
	return err
}

// finish waits until the chat has dealt with the message. Every snapshot on the way is told.
func (e *exchange) finish(ctx context.Context, tell func(live.Snapshot)) (live.Progress, error) {
	quiet := time.NewTimer(quietTime)
	defer quiet.Stop()
	for {
		tell(e.now)
		progress := e.now.ProgressOf(e.chat, e.message.Name, len(e.before))
		switch progress {
		case live.Working:
			if needsRepair(readyReason(e.now.Chat(e.chat))) {
				return live.Broken, nil
			}
			e.warn()
			quiet.Stop()
		case live.Quiet:
			quiet.Reset(quietTime)
		default:
			return progress, nil
		}
		select {
		case <-ctx.Done():
			return progress, context.Cause(ctx)
		case <-quiet.C:
			return e.believed(), nil
		case snapshot, open := <-e.snapshots:
			if !open {
				return progress, context.Cause(ctx)
			}
			e.now = snapshot
		}
	}
}

// believed is what a chat that has been quiet for long is taken for.
func (e *exchange) believed() live.Progress {
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

// warn says, once for each reason, why a chat does not take the message, or what its work waits for.
func (e *exchange) warn() {
	chat := e.now.Chat(e.chat)
	if chat == nil {
		return
	}
	if still, ok := live.StandstillOf(chat.Status.Conditions); ok && !still.Paused {
		e.once(e.chat+still.Reason, "the chat %s %s", e.chat, terminal.Line(still.String()))
	} else if reason := notReady(chat); reason != "" {
		e.once(e.chat, "the chat %s is not ready and waits: %s", e.chat, reason)
	}
	for _, task := range e.now.Tasks {
		if node := live.Find(e.now.Tree(e.chat), task.Name); node != nil {
			if still, ok := node.Standstill(); ok {
				e.once(task.Name+still.Reason, "%s (%s) %s", task.Name, node.Role(), terminal.Line(still.String()))
			}
		}
	}
}

func (e *exchange) once(key, format string, args ...any) {
	if !e.warned[key] {
		e.warned[key] = true
		e.s.say(format, args...)
	}
}

// readyReason is the reason of a chat's condition.
func readyReason(chat *v1alpha1.AgentChat) string {
	if chat == nil {
		return ""
	}
	if c := meta.FindStatusCondition(chat.Status.Conditions, v1alpha1.ConditionReady); c != nil {
		return c.Reason
	}
	return ""
}

// needsRepair says that a chat waits for somebody to repair the ledger: that it only does not answer may pass by itself.
func needsRepair(reason string) bool {
	return strings.HasPrefix(reason, "Ledger") && reason != v1alpha1.ReasonLedgerUnavailable
}

// notReady says why a chat cannot be used, or nothing.
func notReady(chat *v1alpha1.AgentChat) string {
	c := meta.FindStatusCondition(chat.Status.Conditions, v1alpha1.ConditionReady)
	if c == nil || c.Status != "False" {
		return ""
	}
	return c.Reason + ": " + c.Message
}

// outcome is the error, with its exit code, for how a chat dealt with a message.
func (e *exchange) outcome(progress live.Progress) error {
	switch progress {
	case live.NeedsPerson:
		asks := e.now.Asks(e.chat)
		if len(asks) == 0 {
			return exitf(exitWaiting, "the chat waits for a person: look at it with `kubectl nestor chat %s`", e.chat)
		}
		return exitf(exitWaiting, "the chat waits for a person; %s", narrate.Hint(asks[0]))
	case live.Refused:
		return rejection(e.now.Message(e.message.Name))
	case live.Broken:
		return exitf(exitFailed, "the chat cannot go on: %s", notReady(e.now.Chat(e.chat)))
	case live.Paused:
		still, _ := live.StandstillOf(e.now.Chat(e.chat).Status.Conditions)
		return exitf(exitPaused, "the chat %s is %s", e.chat, terminal.Line(still.String()))
	case live.Gone:
		return exitf(exitCancelled, "the chat %s was deleted", e.chat)
	}
	if e.lost {
		return exitf(exitFailed, "the ledger had lost the history of the chat %s: the message began a new conversation, whose agents do not know what was said before", e.chat)
	}
	return nil
}

// answers are what was said in the chat since the message was sent, by others than people.
func (e *exchange) answers() []v1alpha1.AgentMessage {
	var said []v1alpha1.AgentMessage
	for _, m := range e.now.Messages {
		if m.Spec.Role != v1alpha1.RoleUser && !e.before[m.Name] {
			said = append(said, m)
		}
	}
	return said
}

// explainTimeout makes an error of a wait that took too long say what was waited for.
func explainTimeout(err error, what string) error {
	if errors.Is(err, errTimeout) {
		return exitf(exitTimeout, "%s: %w", what, err)
	}
	return err
}
