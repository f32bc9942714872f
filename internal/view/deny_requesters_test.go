// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

// TestRequesterMustNotDecide checks that the client explains the separation of duties before it sends anything.
func TestRequesterMustNotDecide(t *testing.T) {
	waiting := v1beta1.Waiting{Kind: v1beta1.WaitingApproval, ToolCall: "c1", Text: "bash {}", Tool: "bash", DenyRequesters: true}
	chat := func(owner string, requesters ...string) Snapshot {
		status := v1beta1.AgentChatStatus{Requesters: requesters, Waiting: []v1beta1.ChatWaitingItem{{Task: "chat-1", Waiting: waiting}}}
		return Snapshot{Chats: []v1beta1.AgentChat{{ObjectMeta: metav1.ObjectMeta{Name: "chat"}, Spec: v1beta1.AgentChatSpec{User: owner}, Status: status}}}
	}
	task := func(user string) Snapshot {
		top := v1beta1.AgentTask{ObjectMeta: metav1.ObjectMeta{Name: "work"}, Spec: v1beta1.AgentTaskSpec{User: user}}
		below := v1beta1.AgentTask{ObjectMeta: metav1.ObjectMeta{Name: "work-1", Labels: map[string]string{v1beta1.LabelParent: "work"}}}
		below.Status.Waiting = &waiting
		return Snapshot{Tasks: []v1beta1.AgentTask{top, below}}
	}
	for name, c := range map[string]struct {
		asks []Ask
		want string
	}{
		"an author in the chat":            {chat("", "alice", "bob").Asks("chat"), "you (bob) requested"},
		"the user of the chat":             {chat("bob", "alice").Asks("chat"), "you (bob) requested"},
		"another user":                     {chat("alice", "alice").Asks("chat"), ""},
		"a chat with an unknown author":    {chat("alice").Asks("chat"), "requester is unknown"},
		"the user of a standalone task":    {task("bob").Asks(""), "you (bob) requested"},
		"another user, for a task":         {task("alice").Asks(""), ""},
		"a standalone task without a name": {task("").Asks(""), "requester is unknown"},
	} {
		t.Run(name, func(t *testing.T) {
			if len(c.asks) != 1 {
				t.Fatalf("%d asks", len(c.asks))
			}
			err := c.asks[0].CheckMayDecide("bob")
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v", err)
			}
		})
	}
}
