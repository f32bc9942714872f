// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"encoding/json"
	"testing"

	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/model"
)

func TestDelegatedResultBecomesAnAnswer(t *testing.T) {
	w := newWorld(t, "nested-agents")
	w.chat(nil)
	w.sendMessage("m1", "Research the history of the lighthouse of Alexandria.")
	w.untilPosted("finished under Ptolemy II around 280 BC")
	w.until("the first task to end in the ledger", func() bool {
		a, err := w.ledger.Agent(t.Context(), "uid-chat-1")
		return err == nil && a.Status == ledger.StatusSuccess
	})
	nodes := w.tree()
	if len(nodes) != 2 {
		t.Fatalf("the tree has %d agents, want the chat and its researcher", len(nodes))
	}
	// The ledger can restore every request exactly.
	calls, err := w.ledger.ModelCalls(t.Context(), ledger.CallFilter{Agent: "uid-chat-1"}, ledger.Page{})
	if err != nil || len(calls.Items) != 3 {
		t.Fatalf("%d model calls of the researcher (%v), want 3", len(calls.Items), err)
	}
	call, err := w.ledger.ModelCall(t.Context(), calls.Items[2].Key)
	if err != nil {
		t.Fatal(err)
	}
	var request model.Request
	if err := json.Unmarshal(call.Request, &request); err != nil || len(request.Messages) != 6 || call.Result.Status != ledger.StatusSuccess {
		t.Errorf("the third request has %d messages (%v), want system, task, and two calls with their answers", len(request.Messages), err)
	}
	if runs, doubled := w.tools.count("web_search"); runs != 1 || len(doubled) > 0 {
		t.Errorf("web_search ran %d times", runs)
	}
}

func TestOrchestratorToolRunsAsTask(t *testing.T) {
	w := newWorld(t, "nested-agents")
	w.chat(nil)
	w.sendMessage("m1", "What is 17 * 23?")
	w.untilPosted("17 * 23 is 391.")
}

func TestQuestionIsAnsweredFromConversation(t *testing.T) {
	w := newWorld(t, "central-orchestration")
	w.chat(nil)
	w.sendMessage("m1", "My name is Alice. Write me a welcome note.")
	w.untilPosted("Answered from the conversation: Alice")
	w.untilPosted("Here is your note: Welcome, Alice!")
}

func TestQuestionIsAnsweredByPerson(t *testing.T) {
	w := newWorld(t, "central-orchestration")
	w.chat(nil)
	w.sendMessage("m1", "Summarise what was released this year.")
	w.untilPosted("needs input: Which year is it?")
	w.sendMessage("m2", "It is 2024")
	w.untilPosted("Thanks, I have told the researcher.")
	w.untilPosted("Three releases came out")
}

func TestApprovalsComeFromAnyDepth(t *testing.T) {
	w := newWorld(t, "role-delegation")
	w.chat(nil)
	w.sendMessage("m1", "Add authentication to the API.")
	w.untilPosted("asks for approval of `write`")
	w.mu.Lock()
	w.approve = func(e agent.AskPerson) *agent.Decided { return &agent.Decided{Call: e.Call, Approve: true} }
	w.mu.Unlock()
	w.reconcile("uid-chat-1")
	w.until("the coder's task to succeed", func() bool {
		a, err := w.ledger.Agent(t.Context(), "uid-chat-1")
		return err == nil && a.Status == ledger.StatusSuccess
	})
	for _, name := range []string{"write", "bash"} {
		if _, doubled := w.tools.count(name); len(doubled) > 0 {
			t.Errorf("repeated calls: %v", doubled)
		}
	}
}

func TestFanOutAndFanIn(t *testing.T) {
	w := newWorld(t, "load")
	w.chat(nil)
	w.sendMessage("m1", "Load 20")
	w.untilPosted("All steps are done.")
	if nodes := w.tree(); len(nodes) != 21 {
		t.Errorf("the tree has %d agents, want 21", len(nodes))
	}
}
