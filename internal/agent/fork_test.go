// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// forkRun runs a fork with a record. Live results come from perform.
type forkRun struct {
	state   State
	record  *Record
	now     Time
	replies []ModelReplied
	perform func(Effect) Fact
	// performed are the effects of a model, a tool, a child or a person.
	performed []Effect
}

// findForkPoint returns the last point of a fork at or before an event. Events are those of the origin from the first.
func findForkPoint(events []Event, sequence int64, instruction bool) ForkPoint {
	f := ForkFinder{Sequence: sequence, Instruction: instruction}
	var s State
	for i, e := range events {
		if int64(i) >= sequence {
			break
		}
		s = apply(s, e)
		f.Add(int64(i)+1, s)
	}
	return f.Point
}

// startFork forks a run at an event and returns the fork before its first effect.
func startFork(events []Event, point ForkPoint, fork Fork, change func(*Forked)) *forkRun {
	fork.Origin, fork.Sequence, fork.End = "origin", point.Sequence, int64(len(events))
	r := &forkRun{state: point.State, record: NewRecord(point.State, events[point.Sequence:]), now: events[len(events)-1].At}
	forked := Forked{Fork: fork, Name: "fork"}
	if change != nil {
		change(&forked)
	}
	if point.Sequence == 0 {
		config := events[0].Fact.(Started).Config
		config.Name, config.Fork = "fork", &fork
		if forked.Config != nil {
			config.Role = forked.Config.Role
		}
		started := events[0].Fact.(Started)
		started.Config, started.Policed = config, false
		r.step(started)
		return r
	}
	r.step(forked)
	return r
}

func (r *forkRun) step(fact Fact) {
	if reply, ok := fact.(ModelReplied); ok {
		r.replies = append(r.replies, reply)
	}
	r.state, _ = Step(r.state, Event{At: r.now, Fact: fact})
	if recalled, ok := r.record.Recall(r.state); ok {
		r.step(recalled)
	}
}

// run drives the fork until it ends or waits.
func (r *forkRun) run(t interface{ Fatalf(string, ...any) }) {
	for range 1000 {
		var next Effect
		for _, e := range Outstanding(r.state) {
			switch e.(type) {
			case CallModel, RunTool, StartChild, CancelChild, AskPerson:
				next = e
			}
		}
		call, isModel := next.(CallModel)
		switch {
		case next == nil:
			return
		case isModel && r.state.RecallsReplies():
			r.step(r.record.Reply(call))
		default:
			r.performed = append(r.performed, next)
			if r.perform == nil {
				t.Fatalf("a recorded fork performs %s", next)
			}
			r.step(r.perform(next))
		}
	}
	t.Fatalf("the fork does not end: %v", r.state)
}

// repliesAfter returns the replies that an agent has accepted after an event.
func repliesAfter(events []Event, sequence int64) []ModelReplied {
	var s State
	var replies []ModelReplied
	for i, e := range events {
		before := s
		s = apply(s, e)
		f, ok := e.Fact.(ModelReplied)
		if ok && int64(i) >= sequence && before.Phase == PhaseRequesting && before.ModelCall.ID == f.Call && before.ModelCall.RetryTime == 0 {
			replies = append(replies, f)
		}
	}
	return replies
}

func callsOf(replies []ModelReplied) []string {
	var lines []string
	for _, r := range replies {
		lines = append(lines, fmt.Sprintf("%s %q", r.Call, r.Text))
		for _, c := range r.Calls {
			lines = append(lines, fmt.Sprintf("  %s %s", c.Tool, c.Arguments))
		}
	}
	return lines
}

// checkUnchangedForks forks a run at some of its events with recorded replies and results. The fork makes the calls of the run in their order, and
// performs nothing. It diverges only where the record ends: after its last reply, or at a call without a result.
func checkUnchangedForks(t interface {
	Fatalf(string, ...any)
	Helper()
}, events []Event, positions ...int,
) (forks, ends int) {
	t.Helper()
	started, ok := events[0].Fact.(Started)
	if !ok || !started.Config.MayFork() {
		return 0, 0
	}
	state := Replay(State{}, events)
	for _, at := range positions {
		point := findForkPoint(events, int64(at), false)
		if point.Sequence > int64(at) || point.Sequence > 0 && !point.State.IsForkPoint() {
			t.Fatalf("a fork at %d begins after %d", at, point.Sequence)
		}
		fork := startFork(events, point, Fork{Replies: RepliesRecorded, Results: ResultsRecorded}, nil)
		fork.run(t)
		want, got := callsOf(repliesAfter(events, point.Sequence)), callsOf(fork.replies)
		if len(got) > len(want) || !slices.Equal(got, want[:len(got)]) {
			t.Fatalf("a fork at %d makes other calls (-origin +fork):\n%s", point.Sequence, cmp.Diff(want, got))
		}
		forks++
		if !fork.state.Phase.Terminal() {
			t.Fatalf("a fork at %d does not end: %v", point.Sequence, fork.state)
		}
		diverged := fork.state.Outcome.Kind == ErrorDiverged
		if o := fork.state.Outcome; o.Succeeded() && len(o.Result.Warnings) > 0 && strings.Contains(o.Result.Warnings[0], textNotInRecord) {
			continue // the run has ended before its reviewer
		}
		if state.LimitReached != nil || fork.state.LimitReached != nil || slices.Contains([]ErrorKind{ErrorTimedOut, ErrorIterationLimit, ErrorBudgetExhausted}, fork.state.Outcome.Kind) {
			continue // its time and its tree are not those of the run
		}
		if len(got) < len(want) && !diverged {
			t.Fatalf("a fork at %d ends early with %v (-origin +fork):\n%s", point.Sequence, fork.state.Outcome, cmp.Diff(want, got))
		}
		if diverged {
			continue
		}
		ends++
		if state.Phase.Terminal() && state.Outcome.Succeeded() && (!fork.state.Outcome.Succeeded() || fork.state.Outcome.Result.Text != state.Outcome.Result.Text) {
			t.Fatalf("a fork at %d ends with %v, and the run with %v", point.Sequence, fork.state.Outcome, state.Outcome)
		}
	}
	return forks, ends
}

func everyPosition(events []Event) iter.Seq[int] {
	return func(yield func(int) bool) {
		for at := range len(events) + 1 {
			if !yield(at) {
				return
			}
		}
	}
}

func TestUnchangedForksRepeatScenarios(t *testing.T) {
	forks, ends := 0, 0
	datadriven.Walk(t, "testdata/scenarios", func(t *testing.T, path string) {
		d := dialogue{}
		check := func() {
			if len(d.events) > 0 {
				f, e := checkUnchangedForks(t, d.events, slices.Collect(everyPosition(d.events))...)
				forks, ends = forks+f, ends+e
			}
		}
		datadriven.RunTest(t, path, func(t *testing.T, td *datadriven.TestData) string {
			if td.Cmd == "follow-up" {
				check()
			}
			if flagged := d.run(t, td); flagged != td.Expected {
				return flagged
			}
			return td.Expected
		})
		check()
	})
	if forks < 100 || ends < 30 {
		t.Errorf("only %d forks, %d of which ended as the run did", forks, ends)
	}
}

func TestUnchangedForksRepeatRandomRuns(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		events := drawRun(t, func(step) {}).events
		checkUnchangedForks(t, events, rapid.IntRange(0, len(events)).Draw(t, "at"))
	})
}

// A fork whose model or results are live may do anything that the record does not contain. It never performs a call that may write, unless
// its results are live.
func TestForksPerformNoWrites(t *testing.T) {
	diverged := 0
	rapid.Check(t, func(t *rapid.T) {
		sim := drawRun(t, func(step) {})
		started, ok := sim.events[0].Fact.(Started)
		if !ok || !started.Config.MayFork() {
			return
		}
		at := rapid.IntRange(0, len(sim.events)).Draw(t, "at")
		results := rapid.SampledFrom([]ResultSource{ResultsRecorded, ResultsReadOnly}).Draw(t, "results")
		fork := startFork(sim.events, findForkPoint(sim.events, int64(at), false), Fork{Replies: RepliesLive, Results: results}, func(f *Forked) {
			changed := started.Config
			changed.Role.Prompt = "work differently"
			f.Config = &changed
		})
		live := &simulation{t: t, state: fork.state, now: fork.now}
		fork.perform = func(e Effect) Fact {
			live.state = fork.state
			switch e := e.(type) {
			case RunTool:
				tool, _ := fork.state.Config.tool(e.Tool)
				if results == ResultsRecorded || !tool.ReadOnly {
					t.Fatalf("%s performs %s", results, e)
				}
				return ToolFinished{Call: e.Call, Outcome: ToolSucceeded, Text: "live"}
			case StartChild, CancelChild:
				t.Fatalf("%s performs %s", results, e)
			case AskPerson:
				if tool, _ := fork.state.Config.tool(e.Tool); results == ResultsRecorded || e.Kind != AskApproval || !tool.ReadOnly {
					t.Fatalf("%s asks %s", results, e)
				}
				return Decided{Call: e.Call, Approve: true, User: "carol", Requesters: Requesters{Users: []string{"alice"}}}
			case CallModel:
				if len(fork.performed) > 60 {
					return ModelFailed{Call: e.Call, Attempt: e.Attempt, Failure: FailureFinal, Message: "enough"}
				}
				return ModelReplied{Call: e.Call, Text: "well", Calls: live.drawCalls()}
			}
			return Woke{}
		}
		fork.run(t)
		if o := fork.state.Outcome; o != nil && o.Kind == ErrorDiverged {
			diverged++
		}
	})
	if diverged == 0 {
		t.Error("no fork has diverged")
	}
}

// recordedRun is a run that reads a file twice, writes it, delegates and ends.
func recordedRun() []Event {
	config := Config{
		Kind: SubAgent, Name: "a", Depth: 1, MaxDepth: 2, Role: Role{Name: "worker", Prompt: "work", Allow: []string{"*"}}, Task: Task{Instruction: "fix it"},
		Tools: []Tool{{Name: "read", ReadOnly: true}, {Name: "bash"}}, Delegates: []Delegate{{Name: "helper"}}, Provider: "default", Model: "small",
	}
	reply := func(call string, calls ...ToolCall) ModelReplied {
		for i := range calls {
			calls[i].ID = fmt.Sprintf("%s.%d", call, i)
		}
		return ModelReplied{Call: call, Text: "next", Calls: calls}
	}
	facts := []Fact{
		Started{Config: config, Labels: []string{"internal"}},
		reply("m1", ToolCall{Tool: "read", Arguments: `{"path": "a", "lines": 7}`}),
		ToolFinished{Call: "m1.0", Outcome: ToolSucceeded, Text: "one", Content: Content{Labels: []string{"secret"}}},
		reply("m2", ToolCall{Tool: "read", Arguments: `{"lines":7,"path":"a"}`}, ToolCall{Tool: "bash", Arguments: `{"command":"make"}`}),
		ToolFinished{Call: "m2.0", Outcome: ToolSucceeded, Text: "two"},
		Decided{Call: "m2.1", Approve: false, Comment: "not now", User: "bob"},
		reply("m3", ToolCall{Tool: ToolDelegate, Arguments: `{"role":"helper","task":"help"}`}, ToolCall{Tool: ToolAskUser, Arguments: `{"question":"Which?"}`}),
		Answered{Call: "m3.1", Text: "This one.", User: "alice"},
		ChildFinished{Child: "a-1", Outcome: Outcome{Result: &Result{Text: "helped"}}},
		ModelReplied{Call: "m4", Text: "fixed", ReasoningItems: []ReasoningItem{{API: "x", Model: "small", Data: json.RawMessage(`1`)}}},
	}
	events := make([]Event, len(facts))
	for i, f := range facts {
		events[i] = Event{At: Time(1000 * (i + 1)), Fact: f}
	}
	return events
}

func TestForkPoints(t *testing.T) {
	events := recordedRun()
	for at, want := range []int64{0, 1, 1, 3, 3, 3, 6, 6, 6, 9, 9} {
		if got := findForkPoint(events, int64(at), false).Sequence; got != want {
			t.Errorf("a fork at %d begins after %d, want %d", at, got, want)
		}
	}
	for at, want := range []int64{0, 0, 0, 3, 3, 3, 6, 6, 6, 9, 10} {
		if got := findForkPoint(events, int64(at), true).Sequence; got != want {
			t.Errorf("a fork with an instruction at %d begins after %d, want %d", at, got, want)
		}
	}
}

func TestChangedForkDiverges(t *testing.T) {
	events := recordedRun()
	for name, test := range map[string]struct {
		calls []ToolCall
		want  string
	}{
		"another call":           {[]ToolCall{{ID: "1", Tool: "bash", Arguments: `{"command":"rm"}`}}, `Expected read {"path": "a", "lines": 7}. Actual: bash {"command":"rm"}`},
		"a call once more":       {slices.Repeat([]ToolCall{{Tool: "read", Arguments: `{"path":"a","lines":7}`}}, 3), `Expected bash {"command":"make"}. Actual: read`},
		"children":               {[]ToolCall{{ID: "1", Tool: ToolSpawn, Arguments: `{"tasks":[{"task":"a","role":"helper"}]}`}}, "Actual: spawn_agents"},
		"a question":             {[]ToolCall{{ID: "1", Tool: ToolAskUser, Arguments: `{"question":"Why?"}`}}, "Actual: ask_user"},
		"the same in other form": {[]ToolCall{{ID: "1", Tool: "read", Arguments: `{ "lines" : 7, "path": "a" }`}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			fork := startFork(events, findForkPoint(events, 1, false), Fork{Replies: RepliesLive, Results: ResultsRecorded}, nil)
			fork.step(ModelReplied{Call: "m1", Calls: test.calls})
			outcome := fork.state.Outcome
			if test.want == "" {
				if outcome != nil || fork.state.History.Newest(1)[0].Text != "one" {
					t.Fatalf("%v: %v", outcome, fork.state.History.Messages())
				}
				return
			}
			if outcome == nil || outcome.Kind != ErrorDiverged || !strings.Contains(outcome.Error, test.want) {
				t.Fatalf("the outcome is %v, want Diverged with %q", outcome, test.want)
			}
		})
	}
}

func TestForkInherits(t *testing.T) {
	events := recordedRun()
	fork := startFork(events, findForkPoint(events, 9, false), Fork{Replies: RepliesLive, Results: ResultsLive}, func(f *Forked) {
		f.Notes, f.Instruction = []string{"The files are those of the commit."}, "And the tests?"
		f.Labels, f.Requesters = []string{"forked"}, Requesters{Users: []string{"carol"}}
		config := events[0].Fact.(Started).Config
		config.Model = "large"
		f.Config = &config
	})
	s := fork.state
	if got, want := s.LabelNames(), []string{"forked", "internal", "secret", "untrusted"}; !slices.Equal(got, want) {
		t.Errorf("labels %v, want %v", got, want)
	}
	if got, want := s.Requesters.Users, []string{"alice", "carol"}; !slices.Equal(got, want) {
		t.Errorf("requesters %v, want %v", got, want)
	}
	if s.Config.Name != "fork" || s.Config.Model != "large" || s.ModelCall.ID != "m4" || s.Usage.ModelCalls != 0 || s.Iterations != 3 {
		t.Errorf("the fork begins as %s with %s, usage %v and %d iterations", s.Config.Name, s.ModelCall.ID, s.Usage, s.Iterations)
	}
	if got := s.History.Newest(2); got[0].Text != "The files are those of the commit." || got[1].Text != "And the tests?" {
		t.Errorf("the fork continues with %v", got)
	}
	_, effects := Step(findForkPoint(events, 9, false).State, Event{At: 11_000, Fact: Forked{Fork: Fork{Origin: "o"}, Name: "other"}})
	if !slices.ContainsFunc(effects, func(e Effect) bool { return e.Key() == "model/m4/1" }) {
		t.Errorf("the fork does not call the model again: %v", effects)
	}
	again, _ := Step(s, Event{At: 99_000, Fact: Forked{Fork: *s.Config.Fork, Name: "fork", Instruction: "Again."}})
	if encode(again) != encode(s) {
		t.Error("a repeated Forked changes the state")
	}
}

func TestForkAfterTheEnd(t *testing.T) {
	events := recordedRun()
	point := findForkPoint(events, 99, true)
	for model, items := range map[string]int{"small": 1, "large": 0} {
		fork := startFork(events, point, Fork{Replies: RepliesLive, Results: ResultsLive}, func(f *Forked) {
			f.Instruction = "Go on."
			config := events[0].Fact.(Started).Config
			config.Model = model
			f.Config = &config
		})
		if fork.state.Phase != PhaseRequesting || fork.state.ModelCall.ID != "m5" || fork.state.Iterations != 0 {
			t.Errorf("the fork is %v", fork.state)
		}
		last := fork.state.History.Newest(2)
		if last[0].Text != "fixed" || last[1].Text != "Go on." || len(last[0].ReasoningItems) != items {
			t.Errorf("with %s the fork continues with %v", model, last)
		}
	}
	if s, _ := Step(point.State, Event{At: 99_000, Fact: Forked{Fork: Fork{Origin: "o"}, Name: "fork"}}); encode(s) != encode(point.State) {
		t.Error("a run that has ended continues without an instruction")
	}
}
