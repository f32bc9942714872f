// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"slices"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

// Progress is how far a chat has handled a message.
type Progress int

// Values of Progress.
const (
	// Working: the chat is still handling the message.
	Working Progress = iota
	// Quiet: the chat is idle and has posted nothing since the message. This is a transient state until the status
	// shows that work started, and the final one when the model had nothing to say.
	Quiet
	// Answered: a reply was posted, and no work is in progress.
	Answered
	// NeedsPerson: the chat waits for a question to be answered or a call to be approved.
	NeedsPerson
	// Rejected: the message was rejected; its status has the reason.
	Rejected
	// Failed: the model call failed permanently; the next message retries.
	Failed
	// Paused: the chat has reached a limit; a person's next message resumes it.
	Paused
	// Deleted: the chat has been deleted.
	Deleted
)

// ProgressOf returns how far a chat has handled a message. before is the number of messages in the chat up to and
// including it.
func (s Snapshot) ProgressOf(chat, message string, before int) Progress {
	c, m := s.Chat(chat), s.Message(message)
	if c == nil {
		return Deleted
	}
	if m == nil || m.Status.Phase == "" || m.Status.Phase == v1beta1.MessagePending {
		return Working
	}
	if m.Status.Phase == v1beta1.MessageRejected {
		return Rejected
	}
	// The status counts messages. While it counts fewer than there are, its phase is outdated.
	if c.Status.Phase == v1beta1.ChatRunning || int(c.Status.Messages) < len(s.Messages) {
		return Working
	}
	// An agent that was just answered continues before the chat's phase changes.
	if c.Status.Phase == v1beta1.ChatIdle && s.hasActiveTask(chat) {
		return Working
	}
	answered := len(s.Messages) > before
	still := OfChat(c)
	switch {
	case still.Is(WaitStateWaiting) || still.Is(WaitStateOverQuota):
		return Working
	case c.Status.Phase == v1beta1.ChatWaiting && !s.asksPosted(chat):
		return Working
	case answered && c.Status.Phase == v1beta1.ChatWaiting:
		return NeedsPerson
	case still.Is(WaitStateBlocked):
		return Failed
	case answered && still != nil:
		return Paused
	case answered:
		return Answered
	}
	return Quiet
}

func (s Snapshot) asksPosted(chat string) bool {
	asks := s.Asks(chat)
	return len(asks) == len(s.Chat(chat).Status.Waiting) &&
		!slices.ContainsFunc(asks, func(ask Ask) bool { return ask.Message == "" })
}

// hasActiveTask reports whether a task of a chat has not ended.
func (s Snapshot) hasActiveTask(chat string) bool {
	return slices.ContainsFunc(s.Tasks, func(t v1beta1.AgentTask) bool { return t.Spec.Chat == chat && !Ended(t.Status.Phase) })
}
