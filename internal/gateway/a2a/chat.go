// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package a2a

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/client/follow"
	"github.com/nestor-dev/nestor/internal/gateway/run"
	"github.com/nestor-dev/nestor/internal/view"
)

const (
	// chatPrefix begins the context ID of an AgentChat. Other context IDs cannot contain a slash.
	chatPrefix = "chat/"
	// turnPrefix begins the task ID of a turn; the name of its AgentMessage follows. Names of AgentTasks have no dots.
	turnPrefix = "turn."
	// quietTime is how long a chat may be idle without a reply to a message before its turn counts as completed.
	quietTime = 10 * time.Second
)

// turn is a person's message in a chat as an A2A task, with everything up to the next such message. Answers and
// decisions belong to the turn.
type turn struct {
	chat    *v1beta1.AgentChat
	message *v1beta1.AgentMessage
	now     view.Snapshot
	// begin is the index of the message in the snapshot, or -1 if the snapshot does not contain it yet. end is the index
	// of the next turn.
	begin, end int
}

func startsTurn(m *v1beta1.AgentMessage) bool {
	return m.Spec.Chat != "" && cmp.Or(m.Spec.Role, v1beta1.RoleUser) == v1beta1.RoleUser && m.Spec.Content != "" && m.Spec.InReplyTo == ""
}

// chat returns the state of a chat whose orchestrator has the role.
func (a agent) chat(ctx context.Context, name string) (view.Snapshot, *v1beta1.AgentChat, error) {
	now, err := follow.ReadSnapshot(ctx, a.caller.API, follow.Scope{Namespace: a.namespace, Chat: name})
	if err != nil {
		return now, nil, failure(err)
	}
	chat := now.Chat(name)
	if chat == nil {
		return now, nil, a2a.NewError(a2a.ErrInvalidParams, "there is no chat "+name+" in the namespace "+a.namespace)
	}
	if chat.Spec.Role != a.role {
		return now, nil, a2a.NewError(a2a.ErrInvalidParams, "the chat "+name+" belongs to the agent /a2a/"+a.namespace+"/"+chat.Spec.Role)
	}
	return now, chat, nil
}

func (a agent) turn(ctx context.Context, id a2a.TaskID) (*turn, error) {
	missing := a2a.NewError(a2a.ErrTaskNotFound, "there is no task "+string(id)+" of the role "+a.role)
	message := &v1beta1.AgentMessage{}
	err := a.caller.API.Get(ctx, client.ObjectKey{Namespace: a.namespace, Name: strings.TrimPrefix(string(id), turnPrefix)}, message)
	if apierrors.IsNotFound(err) || err == nil && !startsTurn(message) {
		return nil, missing
	}
	if err != nil {
		return nil, failure(err)
	}
	now, chat, err := a.chat(ctx, message.Spec.Chat)
	if errors.Is(err, a2a.ErrInvalidParams) {
		return nil, missing
	}
	if err != nil {
		return nil, err
	}
	return newTurn(now, chat, message), nil
}

func newTurn(now view.Snapshot, chat *v1beta1.AgentChat, message *v1beta1.AgentMessage) *turn {
	t := &turn{chat: chat, message: message, now: now, end: len(now.Messages)}
	t.begin = slices.IndexFunc(now.Messages, func(m v1beta1.AgentMessage) bool { return m.Name == message.Name })
	if t.begin < 0 {
		return t
	}
	t.message = &now.Messages[t.begin]
	next := slices.IndexFunc(now.Messages[t.begin+1:], func(m v1beta1.AgentMessage) bool { return startsTurn(&m) })
	if next >= 0 {
		t.end = t.begin + 1 + next
	}
	return t
}

// turns returns the turns of a chat, the newest first.
func (a agent) turns(ctx context.Context, name string) ([]*turn, error) {
	now, chat, err := a.chat(ctx, name)
	if err != nil {
		return nil, err
	}
	var turns []*turn
	for i := range slices.Backward(now.Messages) {
		if startsTurn(&now.Messages[i]) {
			turns = append(turns, newTurn(now, chat, &now.Messages[i]))
		}
	}
	return turns, nil
}

func (t *turn) TaskInfo() a2a.TaskInfo {
	return a2a.TaskInfo{TaskID: a2a.TaskID(turnPrefix + t.message.Name), ContextID: chatPrefix + t.chat.Name}
}

// newest reports whether there is no later turn.
func (t *turn) newest() bool { return t.end == len(t.now.Messages) }

// within returns the messages after the first.
func (t *turn) within() []v1beta1.AgentMessage {
	if t.begin < 0 {
		return nil
	}
	return t.now.Messages[t.begin+1 : t.end]
}

// text returns the replies of the turn, without those that a person stopped.
func (t *turn) text() string {
	var replies []string
	for _, m := range t.within() {
		if m.Spec.Role == v1beta1.RoleAssistant && m.Annotations[v1beta1.AnnotationCall] == "" && m.Annotations[v1beta1.AnnotationStopped] == "" {
			replies = append(replies, strings.TrimSpace(m.Spec.Content))
		}
	}
	return strings.Join(replies, "\n\n")
}

// state returns the state of the turn, and a message about it.
func (t *turn) state() (state a2a.TaskState, note string) {
	if rejected := run.Rejection(t.message); rejected != nil {
		return a2a.TaskStateRejected, rejected.Error()
	}
	if t.begin < 0 {
		return a2a.TaskStateSubmitted, ""
	}
	if !t.newest() && t.text() != "" {
		return a2a.TaskStateCompleted, ""
	}
	return t.outcome(t.progress())
}

// progress returns how far the chat has handled the newest message of a person.
func (t *turn) progress() view.Progress {
	newest := t.begin
	for i := t.begin + 1; i < len(t.now.Messages); i++ {
		if m := t.now.Messages[i]; m.Spec.Role == v1beta1.RoleUser && m.Status.Phase != v1beta1.MessageRejected {
			newest = i
		}
	}
	progress := t.now.ProgressOf(t.chat.Name, t.now.Messages[newest].Name, newest+1)
	if progress == view.Quiet && !t.cancelled() && time.Since(t.now.Messages[newest].CreationTimestamp.Time) < quietTime {
		return view.Working
	}
	return progress
}

// cancelled reports whether a person cancelled the work of the chat during the turn. It compares times, because
// messages of the same second have no defined order.
func (t *turn) cancelled() bool {
	return slices.ContainsFunc(t.now.Messages, func(m v1beta1.AgentMessage) bool {
		during := !m.CreationTimestamp.Before(&t.message.CreationTimestamp) && (t.newest() || m.CreationTimestamp.Before(&t.now.Messages[t.end].CreationTimestamp))
		return m.Spec.Cancel != nil && m.Spec.Cancel.Task == "" && m.Status.Phase == v1beta1.MessageHandled && during
	})
}

// outcome returns the state of the turn after a progress of the chat, and a message about it.
func (t *turn) outcome(progress view.Progress) (state a2a.TaskState, note string) {
	switch progress {
	case view.Working:
		return a2a.TaskStateWorking, ""
	case view.NeedsPerson:
		return a2a.TaskStateInputRequired, ""
	case view.Answered, view.Quiet:
		if t.cancelled() {
			return a2a.TaskStateCanceled, ""
		}
		return a2a.TaskStateCompleted, ""
	case view.Deleted:
		return a2a.TaskStateFailed, "the chat was deleted"
	case view.Rejected:
		if rejected := run.Rejection(t.message); rejected != nil {
			return a2a.TaskStateRejected, rejected.Error()
		}
		return a2a.TaskStateRejected, "the message was rejected"
	case view.Paused, view.Failed:
	}
	switch wait := view.OfChat(t.chat); {
	case wait.Is(view.WaitStatePaused):
		return a2a.TaskStateFailed, "the chat is " + wait.String()
	case wait != nil:
		return a2a.TaskStateFailed, wait.Condition()
	}
	return a2a.TaskStateFailed, "the chat could not handle the message"
}

// status returns the status of the turn in a state. ask is what the chat waits for, or nil.
func (t *turn) status(state a2a.TaskState, note string, ask *run.Ask) a2a.TaskStatus {
	changed := t.message.CreationTimestamp.Time
	if within := t.within(); len(within) > 0 {
		changed = within[len(within)-1].CreationTimestamp.Time
	}
	s := a2a.TaskStatus{State: state, Timestamp: &changed}
	switch {
	case ask != nil:
		s.Message = askMessage(t.TaskInfo(), ask, "")
	case note != "":
		s.Message = newMessage(string(t.message.UID)+"-note", a2a.MessageRoleAgent, t.TaskInfo(), a2a.NewTextPart(note))
	}
	return s
}

// show returns the turn as a task, without artifacts.
func (t *turn) show(status a2a.TaskStatus, historyLength *int) *a2a.Task {
	info := t.TaskInfo()
	shown := &a2a.Task{ID: info.TaskID, ContextID: info.ContextID, Status: status}
	if historyLength == nil || *historyLength > 0 {
		shown.History = []*a2a.Message{newMessage(t.message.Name, a2a.MessageRoleUser, info, a2a.NewTextPart(t.message.Spec.Content))}
	}
	return shown
}

// wholeTurn returns a turn with its ask and its replies.
func (a agent) wholeTurn(ctx context.Context, t *turn, historyLength *int) (*a2a.Task, error) {
	state, note := t.state()
	var ask *run.Ask
	if state == a2a.TaskStateInputRequired {
		open, err := a.chatAsks(ctx, t.chat.Name)
		if err != nil {
			return nil, err
		}
		ask = first(open)
	}
	shown := t.show(t.status(state, note, ask), historyLength)
	shown.Artifacts = artifacts(t.text())
	return shown, nil
}

// chatAsks returns what a chat waits for, the oldest first.
func (a agent) chatAsks(ctx context.Context, chat string) ([]run.Ask, error) {
	now, err := a.caller.ChatState(ctx, a.namespace, chat)
	if err != nil {
		return nil, failure(err)
	}
	for i := range now.Asks {
		now.Asks[i].Root, now.Asks[i].Door = chat, doorName // the idempotency keys of answers are those of the chat
	}
	return now.Asks, nil
}

func first(open []run.Ask) *run.Ask {
	if len(open) == 0 {
		return nil
	}
	return &open[0]
}

// talk sends a message to a chat, which begins a turn.
func (a agent) talk(ctx context.Context, chat string, message *a2a.Message, in input) (exchange, error) {
	if in.text() == "" {
		return exchange{}, a2a.NewError(a2a.ErrInvalidParams, "the message has no text")
	}
	now, object, err := a.chat(ctx, chat)
	if err != nil {
		return exchange{}, err
	}
	from, err := a.caller.Newest(ctx, a.namespace, chat)
	if err != nil {
		return exchange{}, failure(err)
	}
	sent, _, err := a.caller.Send(ctx, run.Message{Namespace: a.namespace, Chat: chat, Content: in.text(), Key: "a2a/" + message.ID, Door: doorName})
	if err != nil {
		return exchange{}, failure(err)
	}
	return exchange{turn: newTurn(now, object, sent), message: sent.Name, from: from}, nil
}

// answerTurn answers what the chat of a turn waits for.
func (a agent) answerTurn(ctx context.Context, message *a2a.Message, in input) (exchange, error) {
	t, err := a.turn(ctx, message.TaskID)
	if err != nil {
		return exchange{}, err
	}
	chat := t.chat.Name
	if message.ContextID != "" && message.ContextID != chatPrefix+chat {
		return exchange{}, a2a.NewError(a2a.ErrInvalidParams, "the task belongs to another context")
	}
	x := exchange{turn: t}
	if x.from, err = a.caller.Newest(ctx, a.namespace, chat); err != nil {
		return exchange{}, failure(err)
	}
	key := "a2a/" + message.ID
	x.message = a.caller.MessageName(a.namespace, chat, key)
	var repeated bool
	if x.answered, repeated, err = a.caller.HasAnswered(ctx, a.namespace, chat, key); err != nil || repeated {
		return x, failure(err)
	}
	if state, _ := t.state(); state.Terminal() {
		return exchange{}, errNoInput
	}
	open, err := a.chatAsks(ctx, chat)
	if err != nil {
		return exchange{}, err
	}
	x.answered, err = a.reply(ctx, open, in, key)
	return x, err
}
