// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package exchange

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/model"
)

// newConversation returns a sub-agent with one model call in flight.
func newConversation(context int64) agent.State {
	s, _ := agent.Step(agent.State{}, agent.Event{At: 1, Fact: agent.Started{Config: agent.Config{
		Kind: agent.SubAgent, Name: "worker", Depth: 1, MaxDepth: 2, Role: agent.Role{Name: "worker", Prompt: "You work.", Allow: []string{"look"}},
		Task: agent.Task{Instruction: "Work."}, Tools: []agent.Tool{{Name: "look", ReadOnly: true}},
		Limits: agent.Limits{MaxIterations: 100, ContextTokens: context},
	}}})
	return s
}

// addTurn makes one iteration: a reply with a tool call, and its answer.
func addTurn(s agent.State, n int, images ...agent.Image) agent.State {
	id := fmt.Sprintf("c%d", n)
	s, _ = agent.Step(s, agent.Event{At: s.Clock.Now + 1, Fact: agent.ModelReplied{Call: s.ModelCall.ID, Text: "I look.",
		Calls: []agent.ToolCall{{ID: id, Tool: "look", Arguments: fmt.Sprintf(`{"n":%d}`, n)}}}})
	s, _ = agent.Step(s, agent.Event{At: s.Clock.Now + 1, Fact: agent.ToolFinished{Call: id, Outcome: agent.ToolSucceeded, Images: images,
		Text: strings.Repeat(fmt.Sprintf("result %d ", n), 50)}})
	return s
}

func TestContinuedRequestEqualsRebuiltOne(t *testing.T) {
	s := newConversation(4000)
	last := s // the state of the last request
	var before *Recorded
	var sent, whole []model.Request
	continued, compactions := 0, 0
	for n := 1; n < 60; n++ {
		if s.ModelCall.Purpose == agent.PurposeCompact {
			compactions++
			s, _ = agent.Step(s, agent.Event{At: s.Clock.Now + 1, Fact: agent.ModelReplied{Call: s.ModelCall.ID, Text: fmt.Sprintf("Summary %d.", n)}})
			continue
		}
		if before != nil && len(before.conversation) > 0 {
			if _, ok := agent.PromptGrowth(s, before.history, before.summary); ok {
				continued++
			}
		}
		req := before.Next(s)
		sent, whole = append(sent, req), append(whole, newRequest(agent.BuildPrompt(s)))
		if before != nil && last.ModelCall.Purpose == agent.PurposeTurn { // another continuation of the same request, while the first may be in flight
			_ = before.Next(addTurn(last, 1000+n))
		}
		intent := ledger.ModelCall{Seq: int64(2*n + 1), StartedAt: time.Unix(int64(n), 0)}
		before = Record(&intent, req, s, before)
		var images []agent.Image
		if n%10 == 0 {
			images = []agent.Image{{Digest: fmt.Sprintf("sha256:%d", n), MediaType: "image/png", Size: 9 << 20}}
		}
		last, s = s, addTurn(s, n, images...)
	}
	// Compared at the end, because no request may modify an earlier one.
	if diff := cmp.Diff(whole, sent); diff != "" {
		t.Errorf("requests (-from scratch +continued):\n%s", diff)
	}
	if continued < 20 || compactions == 0 {
		t.Errorf("%d requests continue the one before, and %d compactions", continued, compactions)
	}
}

// TestIterationCostIsConstant counts allocations, which do not depend on the machine.
func TestIterationCostIsConstant(t *testing.T) {
	s, n := newConversation(1<<40), 0
	s.Config.Limits.MaxIterations = 2000
	var before *Recorded
	next := func() {
		n++
		req := before.Next(s)
		intent := ledger.ModelCall{Seq: int64(2*n + 1), StartedAt: time.Unix(int64(n), 0)}
		before = Record(&intent, req, s, before)
		s = addTurn(s, n)
	}
	first := testing.AllocsPerRun(50, next)
	for n < 1000 {
		next()
	}
	if last := testing.AllocsPerRun(50, next); last > first*1.1 {
		t.Errorf("an iteration made %v allocations at first and makes %v after 1000 iterations", first, last)
	}
}
