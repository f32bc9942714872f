// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package live

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nestor-dev/nestor/api/v1alpha1"
)

// Progress is how far a chat has dealt with a message.
type Progress int

// How far a chat has dealt with a message.
const (
	// Working: an answer is on its way.
	Working Progress = iota
	// Quiet: nothing goes on, but nothing has been said since either. A chat looks like this for a moment before the status
	// shows that it has begun, and for good when the model had nothing to say.
	Quiet
	// Answered: something was said, and no work goes on.
	Answered
	// NeedsPerson: the chat waits for a question to be answered or a call to be approved.
	NeedsPerson
	// Refused: the message was rejected; its status says why.
	Refused
	// Broken: the model fails for good; the next message tries again.
	Broken
	// Paused: the chat has reached a limit; a person's next message lets it go on.
	Paused
	// Gone: the chat has been deleted.
	Gone
)

// ProgressOf tells how far a chat has dealt with a message. before is how many messages the chat had when it was sent,
// the message itself included.
func (s Snapshot) ProgressOf(chat, message string, before int) Progress {
	c, m := s.Chat(chat), s.Message(message)
	if c == nil {
		return Gone
	}
	if m == nil || m.Status.Phase == "" || m.Status.Phase == v1alpha1.MessagePending {
		return Working
	}
	if m.Status.Phase == v1alpha1.MessageRejected {
		return Refused
	}
	// The status counts messages: as long as it does not count all that are there, its phase is of an earlier moment.
	if c.Status.Phase == v1alpha1.ChatRunning || int(c.Status.Messages) < len(s.Messages) {
		return Working
	}
	// An agent that has just been answered goes on before the chat's phase says so.
	if c.Status.Phase == v1alpha1.ChatIdle && s.atWork(chat) {
		return Working
	}
	said := len(s.Messages) > before
	still, stands := StandstillOf(c.Status.Conditions)
	switch {
	case stands && !still.Paused:
		return Working // it goes on by itself
	case c.Status.Phase == v1alpha1.ChatWaiting && !s.posted(chat):
		return Working
	case said && c.Status.Phase == v1alpha1.ChatWaiting:
		return NeedsPerson
	case meta.IsStatusConditionPresentAndEqual(c.Status.Conditions, v1alpha1.ConditionReady, metav1.ConditionFalse):
		return Broken
	case said && stands:
		return Paused
	case said:
		return Answered
	}
	return Quiet
}

// posted reports whether all that a chat waits for has been put before the person.
func (s Snapshot) posted(chat string) bool {
	asks := s.Asks(chat)
	for _, ask := range asks {
		if ask.Message == "" {
			return false
		}
	}
	return len(asks) == len(s.Chat(chat).Status.Waiting)
}

// atWork reports whether a task of a chat has not ended.
func (s Snapshot) atWork(chat string) bool {
	for _, t := range s.Tasks {
		if t.Spec.Chat == chat && !Over(t.Status.Phase) {
			return true
		}
	}
	return false
}
