// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nestor-dev/nestor/internal/agent"
)

func (w *world) labels(uid string) agent.Labels {
	w.t.Helper()
	state, err := w.current().View(w.t.Context(), uid)
	if err != nil {
		w.t.Fatal(err)
	}
	return state.Labels
}

// A researcher reads a search result; the labels reach the chat with its report, and a restart changes nothing.
func TestLabels_ReachTheParentWithTheResult(t *testing.T) {
	w := newWorld(t, "nested-agents")
	w.chat(nil)
	w.sendMessage("m1", "Research the history of the lighthouse of Alexandria.")
	w.untilPosted("finished under Ptolemy II around 280 BC")
	child, chat := w.labels("uid-chat-1"), w.labels("uid-chat")
	if len(child) != 1 || child[0].Name != agent.LabelUntrusted || child[0].Source != "web_search" || child[0].Call == "" {
		t.Errorf("the researcher has %v", child)
	}
	if len(chat) != 1 || chat[0].Name != agent.LabelUntrusted || chat[0].Source != agent.ToolDelegate || chat[0].Call == "" {
		t.Errorf("the chat has %v", chat)
	}
	w.restart()
	if diff := cmp.Diff(chat, w.labels("uid-chat")); diff != "" {
		t.Errorf("after a restart (-before +after):\n%s", diff)
	}
	if diff := cmp.Diff([]string{agent.LabelUntrusted}, w.current().directory.treeLabels("uid-chat")); diff != "" {
		t.Errorf("the files of the tree: %s", diff)
	}
}

// Tools that only compute bring no label, also as a task of the orchestrator.
func TestLabels_ComputingToolsBringNone(t *testing.T) {
	w := newWorld(t, "nested-agents")
	w.chat(nil)
	w.sendMessage("m1", "What is 17 * 23?")
	w.untilPosted("17 * 23 is 391.")
	if labels := w.labels("uid-chat"); len(labels) > 0 {
		t.Errorf("the chat has %v", labels)
	}
}
