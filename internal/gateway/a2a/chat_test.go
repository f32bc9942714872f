// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package a2a

import (
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/view"
)

// conversation builds the snapshot of a chat. Each message is a minute after the one before.
type conversation struct {
	view.Snapshot
	at time.Time
}

func newConversation(phase v1beta1.ChatPhase) *conversation {
	chat := v1beta1.AgentChat{Status: v1beta1.AgentChatStatus{Phase: phase}}
	chat.Name = "lounge"
	return &conversation{Snapshot: view.Snapshot{Chats: []v1beta1.AgentChat{chat}}, at: time.Now().Add(-time.Hour)}
}

func (c *conversation) add(name string, spec v1beta1.AgentMessageSpec, phase v1beta1.MessagePhase) *v1beta1.AgentMessage {
	m := v1beta1.AgentMessage{Spec: spec, Status: v1beta1.AgentMessageStatus{Phase: phase}}
	m.Spec.Chat, m.Name = "lounge", name
	c.at = c.at.Add(time.Minute)
	m.CreationTimestamp = metav1.NewTime(c.at)
	c.Messages = append(c.Messages, m)
	c.Chats[0].Status.Messages = int32(len(c.Messages))
	return &c.Messages[len(c.Messages)-1]
}

func (c *conversation) says(name, text string) {
	c.add(name, v1beta1.AgentMessageSpec{Role: v1beta1.RoleUser, Content: text}, v1beta1.MessageHandled)
}

func (c *conversation) replies(name, text string) *v1beta1.AgentMessage {
	return c.add(name, v1beta1.AgentMessageSpec{Role: v1beta1.RoleAssistant, Content: text}, v1beta1.MessageHandled)
}

func (c *conversation) turn(name string) *turn {
	return newTurn(c.Snapshot, &c.Chats[0], c.Message(name))
}

func (c *conversation) expect(t *testing.T, name string, state a2a.TaskState, text string) {
	t.Helper()
	turn := c.turn(name)
	if got, note := turn.state(); got != state || turn.text() != text {
		t.Errorf("the turn %s is %s (%s) with %q, want %s with %q", name, got, note, turn.text(), state, text)
	}
}

func TestTurnsOfChat(t *testing.T) {
	c := newConversation(v1beta1.ChatIdle)
	c.says("one", "Hello")
	c.replies("p1", "Good day.\n")
	c.says("two", "Release")
	c.replies("p2", "I will.")
	c.replies("p3", "Which version?").Annotations = map[string]string{v1beta1.AnnotationCall: "call-1"}
	c.add("answer", v1beta1.AgentMessageSpec{Role: v1beta1.RoleUser, Content: "1.2", InReplyTo: "p3"}, v1beta1.MessageHandled)
	c.replies("p4", "Done.")
	c.expect(t, "one", a2a.TaskStateCompleted, "Good day.")
	c.expect(t, "two", a2a.TaskStateCompleted, "I will.\n\nDone.")
	if c.turn("one").newest() || !c.turn("two").newest() || startsTurn(c.Message("answer")) || startsTurn(c.Message("p1")) {
		t.Error("a message of a person that answers nothing begins a turn")
	}
	if info := c.turn("two").TaskInfo(); info.TaskID != "turn.two" || info.ContextID != "chat/lounge" {
		t.Errorf("IDs %+v", info)
	}
}

func TestStoppedReplyIsNoAnswer(t *testing.T) {
	c := newConversation(v1beta1.ChatIdle)
	c.says("one", "Tell a story")
	c.add("stop", v1beta1.AgentMessageSpec{Role: v1beta1.RoleUser, Cancel: &v1beta1.Cancel{}}, v1beta1.MessageHandled)
	c.replies("p1", "Once upon").Annotations = map[string]string{v1beta1.AnnotationStopped: "true"}
	c.expect(t, "one", a2a.TaskStateCanceled, "")
	c.says("two", "Hello")
	c.replies("p2", "Good day.")
	c.expect(t, "one", a2a.TaskStateCanceled, "")
}

func TestStatesOfTurns(t *testing.T) {
	working := newConversation(v1beta1.ChatRunning)
	working.says("one", "Hello")
	working.expect(t, "one", a2a.TaskStateWorking, "")

	idle := newConversation(v1beta1.ChatIdle)
	idle.says("one", "Hello")
	idle.expect(t, "one", a2a.TaskStateCompleted, "") // for long without a reply
	idle.Messages[0].CreationTimestamp = metav1.Now()
	idle.expect(t, "one", a2a.TaskStateWorking, "") // its status follows

	cancelled := newConversation(v1beta1.ChatIdle)
	cancelled.says("one", "Hello")
	cancelled.add("stop", v1beta1.AgentMessageSpec{Role: v1beta1.RoleUser, Cancel: &v1beta1.Cancel{}}, v1beta1.MessageHandled)
	cancelled.expect(t, "one", a2a.TaskStateCanceled, "")
	cancelled.says("two", "Hello again")
	cancelled.replies("p", "Hello.")
	cancelled.expect(t, "two", a2a.TaskStateCompleted, "Hello.")

	rejected := newConversation(v1beta1.ChatIdle)
	rejected.add("one", v1beta1.AgentMessageSpec{Role: v1beta1.RoleUser, Content: "Hello"}, v1beta1.MessageRejected)
	rejected.expect(t, "one", a2a.TaskStateRejected, "")

	failed := newConversation(v1beta1.ChatIdle)
	failed.says("one", "Hello")
	failed.Chats[0].Status.Conditions = []metav1.Condition{{Type: v1beta1.ConditionReady, Status: metav1.ConditionFalse, Reason: "ProviderNotFound", Message: "create it"}}
	failed.expect(t, "one", a2a.TaskStateFailed, "")
	if _, note := failed.turn("one").state(); note != "ProviderNotFound: create it" {
		t.Errorf("the note is %q", note)
	}

	// The operator has not processed this message yet.
	sent := &v1beta1.AgentMessage{}
	sent.Name = "new"
	if state, _ := newTurn(idle.Snapshot, &idle.Chats[0], sent).state(); state != a2a.TaskStateSubmitted {
		t.Errorf("a new message is %s", state)
	}
	if state, _ := working.turn("one").outcome(view.NeedsPerson); state != a2a.TaskStateInputRequired {
		t.Errorf("a chat that waits is %s", state)
	}
}
