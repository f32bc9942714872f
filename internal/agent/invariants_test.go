// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"encoding/json"
	"flag"
	"os"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/nestor-dev/nestor/internal/agent/budget"
)

// TestMain raises the number of random sequences; -rapid.checks overrides it.
func TestMain(m *testing.M) {
	flag.Parse()
	checks := flag.Lookup("rapid.checks")
	if checks.Value.String() == checks.DefValue {
		if err := checks.Value.Set("10000"); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}

// TestInvariants checks the invariants of doc.go, and more, on the same random sequences: drawing one costs more than most checks.
func TestInvariants(t *testing.T) {
	atEveryStep := []func(*rapid.T) func(step){
		childrenAreConserved, terminalStatesAbsorbEvents, cancelEnds, limitsHold, windowLimitsHold, answersOnceInOrder, forbiddenToolsAreWithheld,
		exclusiveCallsRunAlone, allowancesAreBounded, answersReachTools, stepReturnsAddedOutstandingEffects, unchangedSinceDetectsChanges,
		promptFrameMatchesConfig, promptGrowthEqualsBuildPrompt, reviewsHold, reasoningStaysWithItsMessage, outputSchemaRequiresData,
		decisionWithOtherDigestIsIgnored, takenNameRenamesOnce, childNamesAreUniqueLabels, approvalsExpire, writesCountOnce,
		isolatedAgentsPassOnDataOnly, editsReachTools,
	}
	atTheEnd := []func(*rapid.T, *simulation){duplicatesAreInert, replayIsExact, quarantineEndsTheAgent, stepDoesNotModifyInput, fairRunnerEnds}
	rapid.Check(t, func(t *rapid.T) {
		checks := make([]func(step), len(atEveryStep))
		for i, check := range atEveryStep {
			checks[i] = check(t)
		}
		sim := drawRun(t, func(s step) {
			for _, check := range checks {
				check(s)
			}
		})
		for _, check := range atTheEnd {
			check(t, sim)
		}
	})
}

// Invariant 1.
func childrenAreConserved(t *rapid.T) func(step) {
	return func(s step) {
		pending := 0
		for _, c := range s.after.Children.Live {
			if c.pending() {
				pending++
			}
		}
		c := s.after.Children
		if pending+c.Finished != c.Started {
			t.Fatalf("%d pending + %d completed != %d started", pending, c.Finished, c.Started)
		}
		if c.Started < s.before.Children.Started || c.Finished < s.before.Children.Finished {
			t.Fatalf("the number of children decreased from %+v to %+v", s.before.Children, c)
		}
		if s.after.Phase.Terminal() && pending > 0 {
			t.Fatalf("ended with %d children pending", pending)
		}
	}
}

// Invariant 2.
func terminalStatesAbsorbEvents(t *rapid.T) func(step) {
	return func(s step) {
		if !s.before.Phase.Terminal() {
			return
		}
		if len(s.effects) > 0 || encode(s.before) != encode(s.after) {
			t.Fatalf("%v changed an agent that has ended", s.event)
		}
	}
}

// Invariant 3.
func duplicatesAreInert(t *rapid.T, sim *simulation) {
	for _, fact := range []Fact{drawForeign(t), rapid.SampledFrom(sim.events).Draw(t, "repeated").Fact} {
		switch f := fact.(type) {
		case Woke, Restarted, Resumed:
			continue // these have no identity: they only move the clock
		case Cancelled:
			if sim.state.Config.Kind == SubAgent {
				continue // a repeated cancel may arrive before an end that it did not cause
			}
		case RemoteCancelled:
			if sim.state.RemoteOpen {
				continue // it is the answer to the cancel that is outstanding
			}
		case AllowanceRevoked:
			if slices.ContainsFunc(sim.state.Allowances, func(a Allowance) bool { return a.Name == f.Allowance }) && !sim.state.HasHandled(f.Message) {
				continue // it came before its allowance, and had no effect then
			}
		case Asked:
			continue // the asks of an agent that has ended are dropped
		case AskResolved, ChildWaits, ItemSent, NameTaken, QuotaReached, QuotaGranted, Judged:
			continue // these describe a level, not a change
		}
		after, effects := Step(sim.state, Event{At: sim.now, Fact: fact})
		if len(effects) > 0 || withoutClock(after) != withoutClock(sim.state) {
			t.Fatalf("repeating %s %+v changed the state: %v", FactType(fact), fact, effects)
		}
	}
}

// Invariant 4.
func replayIsExact(t *rapid.T, sim *simulation) {
	log, err := json.Marshal(sim.events)
	if err != nil {
		t.Fatal(err)
	}
	var events []Event
	if err := json.Unmarshal(log, &events); err != nil {
		t.Fatal(err)
	}
	if encode(Replay(State{}, events)) != encode(sim.state) {
		t.Fatal("replaying the log gave a different state")
	}
	// Replaying from a snapshot must give the same state.
	cut := rapid.IntRange(0, len(events)).Draw(t, "cut")
	snapshot, err := EncodeState(Replay(State{}, events[:cut]))
	if err != nil {
		t.Fatal(err)
	}
	middle, err := DecodeState(snapshot)
	if err != nil {
		t.Fatal(err)
	}
	if encode(Replay(middle, events[cut:])) != encode(sim.state) {
		t.Fatal("replaying from a snapshot gave a different state")
	}
}

// Invariant 5.
func cancelEnds(t *rapid.T) func(step) {
	cancelled := false
	return func(s step) {
		if _, ok := s.event.Fact.(Cancelled); ok && s.before.Config.Kind != Orchestrator && s.before.Phase != PhaseNew {
			cancelled = true
		}
		if !cancelled {
			return
		}
		for _, e := range s.effects {
			switch e.(type) {
			case CancelChild, CancelRemote, ReportOutcome:
			default:
				t.Fatalf("new effects after a cancel: %v", e)
			}
		}
		if s.after.Phase == PhaseFailed && s.before.Phase != PhaseFailed && s.after.Outcome.Kind == "" {
			t.Fatal("failed without an error kind")
		}
	}
}

// Invariant 6.
func limitsHold(t *rapid.T) func(step) {
	lastWords := 0
	return func(s step) {
		limits := s.after.Config.Limits
		if s.after.Iterations > limits.MaxIterations {
			t.Fatalf("iteration %d of %d", s.after.Iterations, limits.MaxIterations)
		}
		for _, e := range s.effects {
			switch e := e.(type) {
			case CallModel:
				// A call that starts must fit into the remaining budget, whatever children and earlier calls have used.
				b := s.after.Budget
				if _, ok := b.Reserve(budget.Amount{}); !ok {
					t.Fatalf("%v with %+v", e, b)
				}
				if e.Purpose == PurposePartialAnswer && e.Attempt == 1 {
					lastWords++
				}
			case StartChild:
				if e.Child.Role != "" && s.after.Config.Depth >= s.after.Config.MaxDepth {
					t.Fatalf("%v at depth %d of %d", e, s.after.Config.Depth, s.after.Config.MaxDepth)
				}
			}
		}
		if s.after.LimitReached != nil && s.after.Phase == PhaseCompleted {
			t.Fatalf("the limit %s was reported as success", s.after.LimitReached.Kind)
		}
		if s.after.Config.Kind != Orchestrator && lastWords > 1 {
			t.Fatalf("%d calls for a partial answer", lastWords)
		}
		late := limits.MaxDuration > 0 && s.after.Clock.Active >= limits.MaxDuration && s.after.LimitReached == nil
		if late && (s.after.Phase == PhaseRequesting || s.after.Phase == PhaseActing) && !s.after.Suspended() {
			t.Fatalf("still active after %d of %d ms", s.after.Clock.Active, limits.MaxDuration)
		}
		if s.after.Clock.Now < s.before.Clock.Now {
			t.Fatal("the clock went backwards")
		}
		warned := s.before.Loop.Count >= loopWarnAt
		stopped := s.before.LimitReached == nil && s.after.LimitReached != nil && s.after.LimitReached.Kind == ErrorLoopDetected
		if stopped && !warned {
			t.Fatalf("stopped after %d equal calls without a warning", s.after.Loop.Count)
		}
		// A batch with another call in it begins a new row of equal calls.
		repeated := s.after.Loop.Digest == s.before.Loop.Digest && len(s.before.Batch) > 0 &&
			s.after.Loop.Count == s.before.Loop.Count+len(s.before.Batch)
		if warned && repeated && s.after.Loop.Count >= loopFailAt && s.after.Phase == PhaseRequesting && s.after.LimitReached == nil {
			t.Fatalf("%d equal calls after a warning", s.after.Loop.Count)
		}
	}
}

// Invariant 7.
func answersOnceInOrder(t *rapid.T) func(step) {
	return func(s step) {
		for _, e := range s.effects {
			if call, ok := e.(CallModel); ok && call.Purpose != PurposeCompact {
				checkConversation(t, BuildPrompt(s.after).Messages)
			}
		}
		// Follow-up work may continue the history of an agent that has ended.
		if s.after.Phase.Terminal() && s.after.Config.Kind == SubAgent {
			checkConversation(t, s.after.History.Messages())
		}
	}
}

// checkConversation checks the rules of providers: each call is answered right after the message that contains it, once and in
// the same order, there are no other answers, and no message is empty.
func checkConversation(t *rapid.T, messages []Message) {
	var open []string
	for i, m := range messages {
		if m.Speaker == ToolSpeaker {
			if len(open) == 0 || open[0] != m.Call {
				t.Fatalf("message %d answers %q, open calls are %v", i, m.Call, open)
			}
			open = open[1:]
			continue
		}
		if len(open) > 0 {
			t.Fatalf("message %d comes before the answers to %v", i, open)
		}
		if m.Text == "" && len(m.Calls) == 0 {
			t.Fatalf("message %d is empty", i)
		}
		for _, c := range m.Calls {
			if slices.Contains(open, c.ID) {
				t.Fatalf("message %d contains the call id %q twice", i, c.ID)
			}
			if !isObject(c.Arguments) {
				t.Fatalf("message %d has arguments %q", i, c.Arguments)
			}
			open = append(open, c.ID)
		}
	}
	if len(open) > 0 {
		t.Fatalf("calls without an answer: %v", open)
	}
}

// Invariant 8.
func forbiddenToolsAreWithheld(t *rapid.T) func(step) {
	approved := map[string]bool{}
	return func(s step) {
		c := s.after.Config
		for _, tool := range Tools(c) {
			checkAllowed(t, c, tool)
		}
		if d, ok := s.event.Fact.(Decided); ok && s.before.findCall(d.Call, CallUndecided) >= 0 {
			separated := !c.Role.DenyRequesters || d.User == "bob" && len(d.Requesters.Users) > 0 && !d.Requesters.Unknown // alice is the only requester
			// The deadline alone may have ended the agent.
			meanwhile, _ := Step(s.before, Event{At: s.event.At, Fact: Decided{Call: "another"}})
			if !separated && s.after.findCall(d.Call, CallUndecided) < 0 && meanwhile.findCall(d.Call, CallUndecided) >= 0 {
				t.Fatalf("%+v took effect although the role requires DenyRequesters", d)
			}
			decided := s.after.findCall(d.Call, CallUndecided) < 0
			approved[d.Call] = approved[d.Call] || d.Approve && separated && decided
		}
		for _, call := range s.after.Batch {
			if call.Problem != "" && call.State != CallDone {
				t.Fatalf("%s has a problem (%s) and its state is %s", call.ID, call.Problem, call.State)
			}
		}
		for _, e := range s.effects {
			if start, ok := e.(StartChild); ok {
				inputsAreAllowed(t, s, start.Child, approved)
			}
			run, ok := e.(RunTool)
			if !ok || s.after.readsInputs() { // the agent that named them is checked
				continue
			}
			tool, exists := c.tool(run.Tool)
			if !exists || (c.Kind != ToolRun && !c.Role.allows(tool)) {
				t.Fatalf("%v is not allowed", e)
			}
			if (c.Role.needsApproval(tool) || tool.Approval == ToolApprovalRequired) && !approved[run.Call] {
				t.Fatalf("%v was not approved", e)
			}
		}
	}
}

// inputsAreAllowed checks that an agent names only calls that it may make itself, for a role that is isolated.
func inputsAreAllowed(t *rapid.T, s step, child ChildSpec, approved map[string]bool) {
	c := s.after.Config
	for _, input := range child.Inputs.calls() {
		tool, exists := c.tool(input.Tool)
		if !exists || !tool.ReadOnly || !c.Role.allows(tool) || !c.isolates(child.Role) {
			t.Fatalf("%s gets the input %s", child.Role, input.Tool)
		}
		if c.Role.needsApproval(tool) && !approved[child.Group] {
			t.Fatalf("%s gets the input %s, which was not approved", child.Role, input.Tool)
		}
	}
}

// checkAllowed implements the rules of DESIGN sections 5 and 6 a second time, independently.
func checkAllowed(t *rapid.T, c Config, tool Tool) {
	delegates := c.Kind != ToolRun && len(c.Delegates) > 0 && c.Depth < c.MaxDepth
	allowed := false
	switch tool.Name {
	case "delegate_to_agent", "spawn_agents", "Help":
		allowed = delegates
	case "ask_user":
		allowed = c.Kind != ToolRun
	case "submit_result", "submit_error":
		allowed = c.Kind == SubAgent && len(tool.Parameters) > 0
	case "reply_to_agent", "continue_agent", "cancel_task":
		allowed = c.Kind == Orchestrator
	case "set_title":
		allowed = c.Kind == Orchestrator
	case "read":
		allowed = c.Role.Allow == nil || len(c.Role.Allow) > 0
	case "read_skill":
		allowed = true // it is granted
	case "bash":
		allowed = len(c.Role.Allow) > 0
	case "put":
		allowed = slices.Contains(c.Role.Allow, "*")
	}
	if !allowed {
		t.Fatalf("a %s of depth %d/%d that allows %v is offered %s", c.Kind, c.Depth, c.MaxDepth, c.Role.Allow, tool.Name)
	}
	if !c.Offers(tool.Name) {
		t.Fatalf("%s is listed but a call of it is refused", tool.Name)
	}
}

// Invariant 9. A fair runner answers everything except asks. A sub-agent always ends, because of its limits. An orchestrator does not end, so
// its model must stop calling tools at some point.
func fairRunnerEnds(t *rapid.T, sim *simulation) {
	for range 2000 {
		outstanding := slices.DeleteFunc(Outstanding(sim.state), waitsForOthers)
		if len(outstanding) == 0 {
			if calls := Unjudged(sim.state); len(calls) > 0 {
				sim.apply(allowAll(calls))
				continue
			}
			if p := sim.state.Phase; p.Terminal() || p == PhaseIdle || sim.state.WaitsForPerson() {
				return
			}
			t.Fatalf("no progress possible: nothing is outstanding in %v", sim.state)
		}
		sim.now++
		if call, ok := outstanding[0].(CallModel); ok && sim.state.Config.Kind == Orchestrator {
			sim.apply(ModelReplied{Call: call.Call, Text: "that is all"})
			continue
		}
		sim.apply(sim.answer(outstanding[0]))
	}
	t.Fatalf("still active after 2000 steps: %v", sim.state)
}

func waitsForOthers(e Effect) bool {
	switch e.(type) {
	case AskPerson, ReportOutcome:
		return true
	}
	return false
}
