// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"cmp"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

// Badge is the state of a chat or a task in one word.
type Badge string

// Values of Badge.
const (
	BadgePending    Badge = "pending"
	BadgeRunning    Badge = "running"
	BadgeDelegating Badge = "delegating"
	BadgeWaiting    Badge = "waiting"
	BadgeCancelling Badge = "cancelling"
	BadgeSuccess    Badge = "success"
	BadgeFailed     Badge = "failed"
	BadgeTimedOut   Badge = "timedout"
	BadgeCancelled  Badge = "cancelled"
	// BadgeIdle is that of a chat without work.
	BadgeIdle Badge = "idle"
)

// State is what a badge means to a person.
type State string

// Values of State.
const (
	StateWaiting State = "waiting"
	StateActive  State = "active"
	StateDone    State = "done"
	StateFailed  State = "failed"
)

func (b Badge) state() State {
	switch b {
	case BadgeWaiting:
		return StateWaiting
	case BadgeSuccess, BadgeIdle, BadgeCancelled:
		return StateDone
	case BadgeFailed, BadgeTimedOut:
		return StateFailed
	}
	return StateActive
}

// Run is a chat or a standalone task as a row of a list.
type Run struct {
	Title string `json:"title"`
	Badge Badge  `json:"badge"`
	State State  `json:"state"`
	// Order sorts runs: by the first number, then by the second.
	Order [2]int64 `json:"order"`
	// ActiveTime is the time of a chat's last message, of a task's end, or else of the creation.
	ActiveTime metav1.Time `json:"activeTime"`
	Asks       []Ask       `json:"asks,omitempty"`
}

// RunOfChat returns the row of a chat. Its asks include questions that the orchestrator may still answer.
func RunOfChat(chat *v1beta1.AgentChat) Run {
	r := Run{Badge: chatBadge(chat), ActiveTime: ptr.Deref(chat.Status.LastMessageTime, chat.CreationTimestamp)}
	r.Title = cmp.Or(GivenTitle(chat, chat.Status.Title), strings.TrimSpace(chat.Annotations[v1beta1.AnnotationFirstWords]), chat.Name)
	if r.Badge == BadgeWaiting {
		for _, item := range chat.Status.Waiting {
			r.Asks = append(r.Asks, chatAsk(chat, item))
		}
	}
	return r.ordered(chat.CreationTimestamp, r.Badge.state())
}

func chatBadge(chat *v1beta1.AgentChat) Badge {
	still := OfChat(chat)
	switch {
	case chat.Status.Phase == v1beta1.ChatWaiting:
		return BadgeWaiting
	case still.Is(WaitStateBlocked):
		return BadgeFailed
	case still.Is(WaitStateWaiting) || still.Is(WaitStateOverQuota):
		return BadgePending
	case chat.Status.Phase == v1beta1.ChatRunning:
		return BadgeRunning
	}
	return BadgeIdle
}

// RunOfTask returns the row of a standalone task, with the first of its asks.
func RunOfTask(task *v1beta1.AgentTask) Run {
	r := Run{Title: cmp.Or(GivenTitle(task, ""), task.Name), Badge: (&Node{Task: *task}).Badge(), ActiveTime: ptr.Deref(task.Status.CompletionTime, task.CreationTimestamp)}
	if r.Badge == BadgeWaiting && task.Status.Waiting != nil {
		ask := NewAsk("", task.Name, *task.Status.Waiting)
		ask.Role, ask.Requesters = task.Spec.Role, Requesters(task)
		r.Asks = []Ask{ask}
	}
	if OfTask(task).Is(WaitStateBlocked) {
		return r.ordered(task.CreationTimestamp, StateFailed)
	}
	return r.ordered(task.CreationTimestamp, r.Badge.state())
}

// ordered returns the row with its state and its place: those that wait for a person first, the longest wait before the
// others, then those that work, and then those that were active last.
func (r Run) ordered(created metav1.Time, state State) Run {
	r.State = state
	switch state {
	case StateWaiting:
		since := created.Time
		if len(r.Asks) > 0 {
			since = slices.MinFunc(r.Asks, func(a, b Ask) int { return a.since(created.Time).Compare(b.since(created.Time)) }).since(created.Time)
		}
		r.Order = [2]int64{0, since.Unix()}
	case StateActive:
		r.Order = [2]int64{1, -r.ActiveTime.Unix()}
	default:
		r.Order = [2]int64{2, -r.ActiveTime.Unix()}
	}
	return r
}

func (a Ask) since(otherwise time.Time) time.Time {
	if a.StartTime.IsZero() {
		return otherwise
	}
	return a.StartTime
}

// Compare compares the places of two rows.
func (r Run) Compare(other Run) int {
	return cmp.Or(cmp.Compare(r.Order[0], other.Order[0]), cmp.Compare(r.Order[1], other.Order[1]))
}

// GivenTitle returns the title that a person gave an object, or the one that the model proposed.
func GivenTitle(object metav1.Object, proposed string) string {
	return cmp.Or(strings.TrimSpace(object.GetAnnotations()[v1beta1.AnnotationTitle]), proposed)
}
