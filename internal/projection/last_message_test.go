// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package projection

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/agent"
)

// TestLastMessageTimeCausesNoWrite checks that the time changes exactly when the name of the message does: chats of an
// operator that did not write the time are not all written after an upgrade, and not repeatedly with CRDs that do not
// have the field.
func TestLastMessageTimeCausesNoWrite(t *testing.T) {
	at := metav1.NewTime(time.Unix(1000, 0))
	facts := ChatFacts{Messages: 1, LastMessage: "m", LastMessageTime: &at}
	s := play(agent.Config{Kind: agent.Orchestrator, Name: "chat"})
	first := Chat(s, facts, v1beta1.AgentChatStatus{}, 1)
	if !first.LastMessageTime.Equal(&at) {
		t.Fatalf("lastMessageTime is %v, want %v", first.LastMessageTime, at)
	}
	old := *first.DeepCopy()
	old.LastMessageTime = nil
	if next := Chat(s, facts, old, 1); !equality.Semantic.DeepEqual(next, old) {
		t.Errorf("the status of an earlier release changes without a new message: %+v", next)
	}
	later := metav1.NewTime(time.Unix(2000, 0))
	if next := Chat(s, ChatFacts{Messages: 2, LastMessage: "n", LastMessageTime: &later}, old, 1); !next.LastMessageTime.Equal(&later) {
		t.Errorf("lastMessageTime is %v after a new message, want %v", next.LastMessageTime, later)
	}
}
