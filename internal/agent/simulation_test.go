// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/nestor-dev/nestor/internal/agent/budget"
	"github.com/nestor-dev/nestor/internal/agent/pattern"
)

// simulation drives an agent with random events: results of outstanding effects in any order, and sometimes a repeated event, an
// event about something unknown, a cancel, a restart, or a jump in time.
type simulation struct {
	t      *rapid.T
	state  State
	events []Event
	now    Time
	serial int
	// repeatsCalls makes the model repeat the same tool call.
	repeatsCalls bool
	// rewrite, if set, changes each fact before it is applied.
	rewrite func(State, Fact) Fact
}

// step is the result of one event.
type step struct {
	before, after State
	event         Event
	effects       []Effect
}

func newSimulation(t *rapid.T) (*simulation, step) {
	sim := &simulation{t: t, now: 1, repeatsCalls: rapid.IntRange(0, 9).Draw(t, "rut") == 0}
	return sim, sim.apply(Started{Config: drawConfig(t), Policed: rapid.IntRange(0, 2).Draw(t, "policed") == 0})
}

func (sim *simulation) apply(fact Fact) step {
	if sim.rewrite != nil {
		fact = sim.rewrite(sim.state, fact)
	}
	e := Event{At: sim.now, Fact: fact}
	s := step{before: sim.state, event: e}
	s.after, s.effects = Step(sim.state, e)
	sim.state = s.after
	sim.events = append(sim.events, e)
	return s
}

// next draws and applies one event.
func (sim *simulation) next() step {
	t := sim.t
	// The clocks of two drivers may disagree, so time can go backwards.
	sim.now = max(1, sim.now+Time(rapid.SampledFrom([]int{0, 1, 100, 5_000, 100_000, -50}).Draw(t, "elapsed")))
	switch rapid.IntRange(0, 19).Draw(t, "what") {
	case 0:
		return sim.apply(rapid.SampledFrom(sim.events).Draw(t, "repeated").Fact)
	case 1:
		return sim.apply(drawForeign(t))
	case 2:
		return sim.apply(sim.drawOutside())
	case 3:
		return sim.apply(Restarted{Unknown: sim.runningCalls(), OpenCalls: sim.openCalls(), Policed: rapid.IntRange(0, 3).Draw(t, "policed now") == 0})
	case 4:
		return sim.apply(Resumed{OpenCalls: sim.openCalls()})
	case 5:
		if r := sim.state.ModelCall; r != nil {
			return sim.apply(rapid.SampledFrom([]Fact{
				QuotaReached{Call: r.ID, Attempt: r.Attempt, QuotaWait: QuotaWait{Reason: "QuotaExhausted", Message: "wait"}},
				QuotaGranted{Call: r.ID, Attempt: r.Attempt},
			}).Draw(t, "quota"))
		}
	}
	if calls := Unjudged(sim.state); len(calls) > 0 && rapid.IntRange(0, 3).Draw(t, "judged") > 0 {
		return sim.apply(drawJudged(t, calls))
	}
	outstanding := Outstanding(sim.state)
	if len(outstanding) == 0 {
		return sim.apply(sim.drawOutside())
	}
	return sim.apply(sim.answer(rapid.SampledFrom(outstanding).Draw(t, "effect")))
}

func (sim *simulation) id(prefix string) string {
	sim.serial++
	return fmt.Sprintf("%s%d", prefix, sim.serial)
}

func (sim *simulation) runningCalls() []string {
	var ids []string
	for _, c := range sim.state.Batch {
		if (c.State == CallRunning || c.inFlight()) && rapid.Bool().Draw(sim.t, "unknown") {
			ids = append(ids, c.ID)
		}
	}
	return ids
}

func (sim *simulation) openCalls() OpenCalls {
	var calls OpenCalls
	for _, c := range sim.state.Batch {
		switch running := c.State == CallRunning || c.inFlight(); {
		case running && rapid.Bool().Draw(sim.t, "in flight"):
			calls.InFlight = append(calls.InFlight, c.ID)
		case running:
			calls.Interrupted = append(calls.Interrupted, c.ID)
		}
	}
	return calls
}

// drawOutside draws an event that is not the result of an effect.
func (sim *simulation) drawOutside() Fact {
	t := sim.t
	agent := fmt.Sprintf("a-%d", rapid.IntRange(1, 4).Draw(t, "agent"))
	switch rapid.IntRange(1, 12).Draw(t, "outside") {
	case 1:
		return Cancelled{Message: sim.id("x"), Reply: rapid.SampledFrom([]string{"", " ", "I have begun to"}).Draw(t, "reply")}
	case 2:
		return Asked{Agent: agent, Task: agent, Call: sim.id("q"), Kind: AskQuestion, Text: rapid.SampledFrom([]string{"Who?", "When?"}).Draw(t, "question"),
			OfTool: rapid.Bool().Draw(t, "of tool")}
	case 3:
		return Asked{Agent: agent, Task: agent, Call: sim.id("q"), Kind: AskApproval, Tool: rapid.SampledFrom([]string{"bash", "put"}).Draw(t, "asked tool"),
			Arguments: rapid.SampledFrom(askedArguments).Draw(t, "arguments"), DenyRequesters: rapid.IntRange(0, 3).Draw(t, "separated") == 0}
	case 4:
		return AskResolved{Agent: agent, Call: fmt.Sprintf("q%d", rapid.IntRange(1, 9).Draw(t, "call")), AgentEnded: rapid.Bool().Draw(t, "gone")}
	case 5:
		return NameTaken{Name: agent, Suffix: drawSuffix(t)}
	case 6:
		return ChildWaits{Child: agent, Waiting: rapid.Bool().Draw(t, "waiting")}
	case 7:
		return sim.drawReconfigured()
	case 8:
		f := Allowed{Message: sim.id("allow"), User: rapid.SampledFrom([]string{"alice", "bob"}).Draw(t, "allowing"), Tool: rapid.SampledFrom([]string{"bash", "put"}).Draw(t, "allowed tool")}
		if glob := rapid.SampledFrom([]string{"", "docs/*", "*", "docs/a"}).Draw(t, "pattern"); glob != "" {
			f.Arguments = []pattern.Argument{{Name: "path", Pattern: glob}}
		}
		return f
	case 12:
		return drawJudged(t, Unjudged(sim.state))
	case 9:
		return AllowanceRevoked{Message: sim.id("revoke"), Allowance: fmt.Sprintf("allow%d", rapid.IntRange(1, 9).Draw(t, "allowance")), User: "alice"}
	default:
		return MessageArrived{Message: sim.id("msg"), Text: "hello", Images: drawImages(t), TreeUsage: budget.Amount{Tokens: rapid.SampledFrom([]int64{0, 5000}).Draw(t, "spent")}, Answers: rapid.SampledFrom([]string{"", agent}).Draw(t, "answers")}
	}
}

func drawImages(t *rapid.T) []Image {
	var images []Image
	for i := range rapid.SampledFrom([]int{0, 0, 0, 1, 9}).Draw(t, "images") {
		images = append(images, Image{Digest: fmt.Sprintf("sha256:%d", i), MediaType: "image/png", Size: 100, Name: "a.png"})
	}
	return images
}

func drawSuffix(t *rapid.T) string { return rapid.StringMatching(`[a-z][a-z0-9]{4}`).Draw(t, "suffix") }

// answer draws a possible result of an effect.
func (sim *simulation) answer(effect Effect) Fact {
	t := sim.t
	switch e := effect.(type) {
	case CallModel:
		if rapid.IntRange(0, 5).Draw(t, "fails") == 0 {
			return ModelFailed{Call: e.Call, Attempt: e.Attempt, Message: "no",
				Failure: rapid.SampledFrom([]ModelFailure{FailureRetry, FailureRetry, FailureFinal, FailureContext, FailureBudget, FailureMessageBudget}).Draw(t, "failure")}
		}
		// A provider may report more than was reserved, or nonsense.
		used := rapid.OneOf(rapid.Int64Range(0, e.Reserve.Tokens), rapid.SampledFrom([]int64{e.Reserve.Tokens + 50, -7, math.MaxInt64})).Draw(t, "used")
		var left *int64
		if rapid.Bool().Draw(t, "tree") {
			left = new(int64)
			*left = rapid.Int64Range(0, 4).Draw(t, "left")
		}
		calls := sim.drawCalls()
		return ModelReplied{Call: e.Call, Usage: budget.Usage{PromptTokens: used}, Calls: calls, ReasoningItems: sim.drawReasoning(calls), TasksLeft: left,
			Text:   rapid.SampledFrom([]string{"", "fine", "a longer text that says something about the work"}).Draw(t, "text"),
			Finish: rapid.SampledFrom([]Finish{"", "", "", FinishLength}).Draw(t, "finish")}
	case RunTool:
		if sim.repeatsCalls {
			return ToolFinished{Call: e.Call, Text: "same", Outcome: ToolSucceeded}
		}
		if rapid.IntRange(0, 3).Draw(t, "asks") == 0 {
			before := sim.state.ToolInput(e.Call)
			return ToolAsked{Call: e.Call, Number: before.Number + 1, Answered: len(before.Answers), Open: rapid.Bool().Draw(t, "open"), State: json.RawMessage(`{}`),
				Question: rapid.SampledFrom([]string{"Sure?", "Which?"}).Draw(t, "tool question")}
		}
		return ToolFinished{Call: e.Call, Text: rapid.SampledFrom([]string{"same", "other"}).Draw(t, "result"),
			Outcome: rapid.SampledFrom([]ToolOutcome{ToolSucceeded, ToolFailed, ToolUnknown}).Draw(t, "outcome")}
	case StartChild:
		if rapid.IntRange(0, 5).Draw(t, "taken") == 0 {
			return NameTaken{Name: e.Child.Name, Suffix: drawSuffix(t)}
		}
		outcome := drawOutcome(t)
		if sim.state.IsReviewer(e.Child.Name) && rapid.IntRange(0, 3).Draw(t, "verdict") > 0 {
			outcome = Outcome{Result: &Result{Text: "judged", Data: json.RawMessage(rapid.SampledFrom([]string{
				`{"verdict":"approve","reasons":[]}`, `{"verdict":"reject","reasons":["It is wrong."]}`, `{"verdict":"reject","reasons":[]}`}).Draw(t, "judged"))}}
		}
		return ChildFinished{Child: e.Child.Name, Outcome: outcome, Usage: budget.Usage{
			PromptTokens: rapid.Int64Range(0, 500).Draw(t, "child used"), ModelCalls: 1, Tasks: rapid.Int64Range(0, 2).Draw(t, "child tasks"),
			Writes: rapid.Int64Range(0, 2).Draw(t, "child writes")}}
	case CancelChild:
		return ChildFinished{Child: e.Child, Outcome: Outcome{Kind: ErrorCancelled, Error: "cancelled"}}
	case CancelRemote:
		return RemoteCancelled{Problem: rapid.SampledFrom([]string{"", "it cannot be reached"}).Draw(t, "problem")}
	case AskPerson:
		if e.Kind == AskQuestion {
			return Answered{Call: e.Call, Text: "yes", Images: drawImages(t)}
		}
		edited := rapid.SampledFrom(editedArguments).Draw(t, "edited")
		digest := rapid.SampledFrom([]string{"", e.Digest(), e.Digest(), CallDigest(e.Tool, edited)}).Draw(t, "shown")
		return Decided{Call: e.Call, Approve: rapid.Bool().Draw(t, "approve"), Arguments: edited, EditedDigest: CallDigest(e.Tool, edited), Digest: digest, Comment: rapid.SampledFrom([]string{"", "careful"}).Draw(t, "comment"),
			User:       rapid.SampledFrom([]string{"", "alice", "bob", "bob"}).Draw(t, "by"),
			Requesters: rapid.SampledFrom([]Requesters{{}, {Users: []string{"alice"}}, {Users: []string{"alice"}}, {Users: []string{"alice"}, Unknown: true}}).Draw(t, "requesters")}
	case SendItem:
		if e.Item.Kind == ItemPost && rapid.IntRange(0, 5).Draw(t, "taken") == 0 {
			return NameTaken{Name: e.Item.PostName(sim.state.Config.Name), Item: e.Item.ID, Suffix: drawSuffix(t)}
		}
		return ItemSent{ID: e.Item.ID}
	case WakeAt:
		sim.now = max(sim.now, e.At)
		return Woke{}
	}
	return Woke{}
}

func drawOutcome(t *rapid.T) Outcome {
	if rapid.Bool().Draw(t, "success") {
		return Outcome{Result: &Result{Text: "done", Data: rapid.SampledFrom([]json.RawMessage{nil, json.RawMessage(`{"verdict":"yes"}`), json.RawMessage(`{"verdict":"approve","reasons":[]}`), json.RawMessage(`{"verdict":"reject","reasons":["It is wrong."]}`)}).Draw(t, "data")}}
	}
	return Outcome{Kind: rapid.SampledFrom([]ErrorKind{ErrorTimedOut, ErrorSubAgent, ErrorModel}).Draw(t, "kind"), Error: "sorry"}
}

// drawCalls draws the calls of a reply, including invalid ones.
func (sim *simulation) drawCalls() []ToolCall {
	if sim.repeatsCalls {
		return slices.Repeat(callChoices[:1], rapid.IntRange(1, 6).Draw(sim.t, "equal calls"))
	}
	if sim.state.Config.reviews() && rapid.IntRange(0, 2).Draw(sim.t, "submits") == 0 {
		return []ToolCall{{ID: sim.id("c"), Tool: ToolSubmit, Arguments: `{"result":"done","data":{"verdict":"yes"}}`}}
	}
	if sim.state.Policed && sim.state.Config.mayDelegate() && rapid.IntRange(0, 3).Draw(sim.t, "delegates only") == 0 {
		return []ToolCall{{ID: sim.id("c"), Tool: ToolDelegate, Arguments: `{"role":"helper","task":"help"}`}}
	}
	calls := make([]ToolCall, rapid.IntRange(0, 4).Draw(sim.t, "calls"))
	for i := range calls {
		calls[i] = rapid.SampledFrom(callChoices).Draw(sim.t, "call")
		// Some models number their calls from 1 in each reply, some send no id at all.
		calls[i].ID = rapid.SampledFrom([]string{"", fmt.Sprintf("call_%d", i), sim.id("c")}).Draw(sim.t, "id")
	}
	return calls
}

var callChoices = []ToolCall{
	{Tool: "read", Arguments: `{"path":"a"}`},
	{Tool: "read", Arguments: `{"path":"b"}`},
	{Tool: "bash", Arguments: `{"command":"make"}`},
	{Tool: "put", Arguments: `{}`},
	{Tool: "read_skill", Arguments: `{"skill":"letters"}`},
	{Tool: "bash", Arguments: `{"command":7}`, Problem: "command: got number, want string"},
	{Tool: "Help", Arguments: `{}`, Problem: "missing property query"},
	{Tool: ToolSubmit, Arguments: `{"result":"cut off"}`, Problem: "cut off"},
	{Tool: "secret", Arguments: `{}`},
	{Tool: "nonsense", Arguments: `{}`},
	{Tool: "read", Arguments: `not json`},
	{Tool: ToolDelegate, Arguments: `{"role":"helper","task":"help"}`},
	{Tool: ToolDelegate, Arguments: `{"role":"stranger","task":"help"}`},
	{Tool: ToolDelegate, Arguments: `{"role":"helper","task":"help","context":"summary"}`},
	{Tool: ToolDelegate, Arguments: `{"role":"general","task":"judge","inputs":[{"file":"a"},{"tool":"read","arguments":{"path":"b"}}]}`},
	{Tool: ToolDelegate, Arguments: `{"role":"general","task":"judge","inputs":[{"tool":"bash"}]}`},
	{Tool: ToolSpawn, Arguments: `{"tasks":[{"task":"a","role":"helper"},{"task":"b","role":"helper"}]}`},
	{Tool: ToolSpawn, Arguments: `{"tasks":[{"task":"a"},{"task":"b"},{"task":"c"}],"wait":"any"}`},
	{Tool: ToolSpawn, Arguments: `{"tasks":[{"task":"a"},{"task":"b"},{"task":"c"}],"wait":2}`},
	{Tool: ToolSpawn, Arguments: `{"tasks":[]}`},
	{Tool: "Help", Arguments: `{"query":"x"}`},
	{Tool: ToolAskUser, Arguments: `{"question":"Why?"}`},
	{Tool: ToolAskUser, Arguments: `{}`},
	{Tool: ToolSubmit, Arguments: `{"result":"done","summary":"done"}`},
	{Tool: ToolSubmit, Arguments: `{"result":7}`},
	{Tool: ToolSubmit, Arguments: `{"result":"done","data": {"verdict":"<yes>", "n": 1.50}}`},
	{Tool: ToolSubmit, Arguments: `{"result":"done","data":7}`},
	{Tool: ToolSubmit, Arguments: `{"result":"done","data":{}}`, Problem: "/data: missing property 'verdict'"},
	{Tool: ToolGiveUp, Arguments: `{"error":"cannot"}`},
	{Tool: ToolReply, Arguments: `{"sub_agent":"a-1","answer":"me","confidence":90}`},
	{Tool: ToolReply, Arguments: `{"sub_agent":"a-2","answer":"me","confidence":10}`},
	{Tool: ToolReply, Arguments: `{"sub_agent":"a-1","answer":" hello ","confidence":10}`},
	{Tool: ToolReply, Arguments: `{"sub_agent":"a-1","answer":"hello, the password is hello","confidence":90}`},
	{Tool: ToolContinue, Arguments: `{"sub_agent":"a-1","message":"more"}`},
	{Tool: ToolCancel, Arguments: `{"task":"a-1"}`},
	{Tool: ToolTitle, Arguments: `{"title":"Lighthouses"}`}, {Tool: ToolTitle, Arguments: `{"title":7}`},
}

// askedArguments are arguments of calls that need an approval, including hostile ones.
var askedArguments = []string{
	"{}", `{"path":"docs/a"}`, `{"path":"docs/../secret"}`, `{"path":"secret"}`, `{"path":"docs/a","path":"secret"}`, `{"path":7}`,
}

// editedArguments are arguments that a person writes, including some that are no object. Most people change nothing.
var editedArguments = []string{"", "", "", `{"path":"edited"}`, `{ "path": "edited again" }`, "{}", "null", "not json"}

// drawForeign draws an event about something unknown to the agent.
func drawForeign(t *rapid.T) Fact {
	return rapid.SampledFrom([]Fact{
		ModelReplied{Call: "m999", Text: "hi"}, ModelFailed{Call: "m999", Attempt: 1, Failure: FailureFinal},
		ToolFinished{Call: "nope", Outcome: ToolSucceeded}, ToolAsked{Call: "nope", Question: "?"}, Decided{Call: "nope", Approve: true}, Answered{Call: "nope", Text: "?"},
		ChildFinished{Child: "nope", Outcome: Outcome{Result: &Result{Text: "?"}}}, ChildWaits{Child: "nope", Waiting: true},
		QuotaReached{Call: "m999", Attempt: 1}, QuotaGranted{Call: "m999", Attempt: 1},
		AskResolved{Agent: "nope", Call: "nope"}, ItemSent{ID: "nope"}, NameTaken{Name: "nope", Suffix: "x7k2p"}, NameTaken{Name: "a-post-1", Item: "nope", Suffix: "x7k2p"}, Started{Config: Config{Kind: SubAgent, Name: "usurper"}},
		RemoteCancelled{}, AllowanceRevoked{Allowance: "nope", Message: "r", User: "alice"}, Allowed{Tool: "bash", User: "alice"}, Allowed{Message: "unsigned", Tool: "bash"},
		Reconfigured{}, Reconfigured{Hold: &Hold{}}, Reconfigured{Config: &Config{}},
	}).Draw(t, "foreign")
}

func drawConfig(t *rapid.T) Config {
	c := Config{
		Kind: rapid.SampledFrom([]Kind{Orchestrator, SubAgent, SubAgent, ToolRun}).Draw(t, "kind"), Name: "a", MaxDepth: 2,
		Task: Task{Instruction: "work"},
		Role: Role{
			Name: "worker", Prompt: "work", Deny: []string{"secret"},
			Allow:          rapid.SampledFrom([][]string{nil, {}, {"*"}, {"read", "b*"}}).Draw(t, "allow"),
			Approval:       rapid.SampledFrom([]ApprovalMode{"", ApproveWrites, ApproveAlways, ApproveNever}).Draw(t, "approval"),
			DenyRequesters: rapid.Bool().Draw(t, "denyRequesters"),
			// the smaller one is shorter than restartGrace
			ApprovalTimeout: rapid.SampledFrom([]Millis{0, 10_000, 150_000}).Draw(t, "approval timeout"), FailOnTimeout: rapid.Bool().Draw(t, "fail on timeout"),
			EditableApprovals: rapid.Bool().Draw(t, "editable"),
		},
		Tools: []Tool{
			{Name: "read", ReadOnly: true, BuiltIn: true}, {Name: "bash"},
			{Name: "put", Idempotent: true, Approval: rapid.SampledFrom([]ToolApproval{"", ToolApprovalRequired, ToolApprovalNotRequired}).Draw(t, "tool approval")}, {Name: "secret", BuiltIn: true},
			{Name: "read_skill", ReadOnly: true, Granted: true},
			{Name: ToolSubmit}, // a tool server that uses a reserved name
		},
		Limits: Limits{
			MaxIterations:   rapid.IntRange(1, 6).Draw(t, "iterations"),
			MaxDuration:     rapid.SampledFrom([]Millis{0, 1000, 60_000}).Draw(t, "duration"),
			MaxTokens:       rapid.SampledFrom([]int64{0, 0, 1800, 6000}).Draw(t, "tokens"),
			ContextTokens:   rapid.SampledFrom([]int64{0, 1000, 100_000}).Draw(t, "context"),
			MaxRetries:      rapid.IntRange(0, 2).Draw(t, "retries"),
			MaxOutputTokens: 100,
			MaxTasks:        rapid.SampledFrom([]int64{0, 0, 3, 8}).Draw(t, "tasks"),
			MaxRepeats:      rapid.SampledFrom([]int{0, 5}).Draw(t, "repeats"),
		},
		AutoAnswer: AutoAnswer{Enabled: rapid.Bool().Draw(t, "auto"), MinConfidence: 70, MaxPerQuestion: 2},
	}
	if c.Kind == Orchestrator {
		c.Limits.MaxTurnsPerMessage = rapid.SampledFrom([]int{0, 1, 3}).Draw(t, "message turns")
		c.Limits.MaxTasksPerMessage = rapid.SampledFrom([]int64{0, 2, 5}).Draw(t, "message tasks")
		c.Limits.MaxTokensPerMessage = rapid.SampledFrom([]int64{0, 0, 2000, 6000}).Draw(t, "message tokens")
	}
	if c.Kind != Orchestrator {
		c.Depth = rapid.IntRange(1, 2).Draw(t, "depth")
	}
	if c.Kind == ToolRun {
		c.ToolCall = &ToolRunCall{Tool: rapid.SampledFrom([]string{"read", "bash", "nonsense"}).Draw(t, "tool"), Arguments: json.RawMessage(`{}`)}
	}
	if c.Kind == SubAgent && rapid.IntRange(0, 2).Draw(t, "structured") == 0 {
		c.OutputSchema = json.RawMessage(`{"type":"object","required":["verdict"],"properties":{"verdict":{"type":"string"}}}`)
	}
	if c.Kind == SubAgent && rapid.IntRange(0, 2).Draw(t, "reviewed") == 0 {
		c.Review = &Review{Role: "helper", MaxRounds: rapid.IntRange(1, 3).Draw(t, "rounds"), Required: rapid.Bool().Draw(t, "required")}
	}
	if c.Isolated = c.Kind == SubAgent && c.Review == nil && rapid.IntRange(0, 5).Draw(t, "isolated") == 0; c.Isolated {
		c.OutputSchema = json.RawMessage(closedVerdict)
		c.Task.Inputs = drawInputs(t)
	}
	c.Remote = c.Kind == SubAgent && c.Review == nil && c.OutputSchema == nil && rapid.IntRange(0, 4).Draw(t, "remote") == 0
	if rapid.IntRange(0, 9).Draw(t, "files") == 0 {
		c.Task.ContextMode, c.Task.ContextFiles = ContextSelective, []string{"a.txt", "b.txt"}
	}
	if rapid.Bool().Draw(t, "delegates") {
		c.Delegates = []Delegate{{Name: "helper", AsTool: &AsTool{Name: "Help"}}, {Name: "general", Isolated: rapid.IntRange(0, 2).Draw(t, "isolates") == 0}}
	}
	return c
}

// drawInputs draws the inputs by reference of an isolated agent, including calls that it must not make.
func drawInputs(t *rapid.T) *Inputs {
	if rapid.Bool().Draw(t, "has no inputs") {
		return nil
	}
	in := &Inputs{Role: "asker", Depth: 1, Calls: []InputCall{{Tool: "read", Arguments: `{"path":"a"}`}, {Tool: "bash", Arguments: "{}"}, {Tool: "read", Arguments: `{"path":"b"}`}}}
	if rapid.Bool().Draw(t, "approved inputs") {
		in.Approved = []Verdict{{Policy: "team/p", UID: "1", Digest: "a", Rule: "r", Action: PolicyRequireApproval}}
	}
	return in
}

// maxSteps bounds a random sequence.
const maxSteps = 30

func drawRun(t *rapid.T, check func(step)) *simulation {
	sim, first := newSimulation(t)
	check(first)
	for range rapid.IntRange(1, maxSteps).Draw(t, "steps") {
		check(sim.next())
	}
	return sim
}

func TestSimulationCoverage(t *testing.T) {
	seen := map[string]int{}
	run := rapid.Custom(func(t *rapid.T) bool {
		drawRun(t, func(s step) {
			seen["phase "+string(s.after.Phase)]++
			seen["stage "+string(s.after.Stage())]++
			seen["name taken of "+s.nameTakenOf()]++
			for _, e := range s.effects {
				seen[fmt.Sprintf("effect %T", e)]++
			}
			if o := s.after.Outcome; o != nil {
				seen["kind "+string(o.Kind)]++
				if s.after.Config.reviews() && o.Result != nil {
					seen[fmt.Sprintf("reviewed %d, warned %t", min(s.after.Review.Rounds, 2), len(o.Result.Warnings) > 0)]++
				}
				seen[fmt.Sprintf("data %t", o.Result != nil && len(o.Result.Data) > 0)]++
			}
			for _, item := range s.after.Outbox {
				seen["item "+string(item.Kind)]++
			}
			if s.after.WaitsForPolicies() != "" {
				seen["waits for policies"]++
			}
			if p := s.after.Paused; p != nil {
				seen["pause "+string(p.Reason)]++
			}
			for _, c := range s.after.Batch {
				seen["call "+string(c.State)]++
				if c.Verdict != nil {
					seen["policed "+string(c.State)]++
				}
				if s.after.readsInputs() {
					seen[fmt.Sprintf("input %s, approved %t", c.State, len(c.Approved) > 0)]++
				}
				if c.Outcome == ToolDenied && c.DecisionUser == "" {
					seen["refused"]++
				}
				if c.Ask != "" {
					seen["asked again"]++
				}
				if c.Input != nil {
					seen[fmt.Sprintf("tool asks %s %t", c.State, c.Input.Open)]++
				}
			}
			for m := range s.after.History.Backward() {
				for _, item := range m.ReasoningItems {
					seen[fmt.Sprintf("reasoning of a call %t", item.Call != "")]++
				}
			}
			if r := s.after.ModelCall; r != nil {
				seen["purpose "+string(r.Purpose)]++
			}
		})
		return true
	})
	for i := range 5000 { // what a simulation reaches must not depend on the seed
		run.Example(i)
	}
	for _, want := range []string{
		"phase Idle", "phase Requesting", "phase Acting", "phase Cancelling", "phase Completed", "phase Failed",
		"stage WaitingForUser", "stage WaitingForApproval", "stage WaitingForSubAgents",
		"effect agent.CallModel", "effect agent.RunTool", "effect agent.StartChild", "effect agent.CancelChild", "effect agent.CancelRemote", "effect agent.AskPerson",
		"effect agent.SendItem", "effect agent.ReportOutcome", "effect agent.WakeAt",
		"kind ", "kind Cancelled", "kind TimedOut", "kind IterationLimit", "kind BudgetExhausted", "kind LoopDetected", "kind ModelError",
		"kind ToolError", "data true", "data false", "kind ReviewRejected",
		"reviewed 0, warned true", "reviewed 1, warned false", "reviewed 1, warned true", "kind SubAgentError", "purpose Turn", "purpose PartialAnswer", "purpose Compact",
		"pause PausedTurnLimit", "pause PausedTaskLimit", "pause PausedTokenLimit", "call Queued", "item Decision",
		"policed Queued", "policed Running", "policed Undecided", "policed Delegated", "policed Asked", "refused", "asked again", "waits for policies",
		"tool asks Asked true", "tool asks Asked false", "tool asks Running true", "tool asks Running false", "reasoning of a call true", "reasoning of a call false",
		"input Queued, approved true", "input Running, approved true", "input Running, approved false", "input Undecided, approved true", "input Done, approved false",
		"name taken of nothing", "name taken of post", "name taken of child",
	} {
		if seen[want] == 0 {
			t.Errorf("the simulation never reached %q", want)
		}
	}
}
