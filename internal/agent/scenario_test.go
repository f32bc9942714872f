// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/nestor-dev/nestor/internal/agent/budget"
	"github.com/nestor-dev/nestor/internal/agent/pattern"
)

// TestScenarios runs the dialogues in testdata/scenarios. Each command is an event; the output shows its effects and the
// resulting state. Run with -rewrite to update the outputs, and read the difference.
//
// The harness confirms every item of the outbox at once, as a well-behaved driver would.
func TestScenarios(t *testing.T) {
	datadriven.Walk(t, "testdata/scenarios", func(t *testing.T, path string) {
		var d dialogue
		datadriven.RunTest(t, path, d.run)
	})
}

type dialogue struct {
	state State
	now   Time
	calls int
	// events are those of the agent since it started.
	events []Event
}

func (d *dialogue) run(t *testing.T, td *datadriven.TestData) string {
	t.Helper()
	switch td.Cmd {
	case "history":
		return lines(d.state.History.Messages())
	case "prompt":
		return d.showPrompt()
	case "outstanding":
		return effectLines(Outstanding(d.state))
	}
	d.now += 1000
	if seconds := argument(td, "at"); seconds != "" {
		n, err := strconv.Atoi(seconds)
		if err != nil {
			td.Fatalf(t, "at: %v", err)
		}
		d.now = Time(n * 1000)
	}
	fact := d.fact(t, td)
	if td.Cmd == "follow-up" { // another agent
		d.state, d.events = State{}, nil
	}
	d.events = append(d.events, Event{At: d.now, Fact: fact})
	before := toJSON(d.state)
	next, effects := Step(d.state, Event{At: d.now, Fact: fact})
	unchanged := withoutClock(d.state) == withoutClock(next)
	if toJSON(d.state) != before {
		td.Fatalf(t, "the step modified its input")
	}
	d.state = next
	out := effectLines(effects)
	for _, e := range effects {
		if deliver, ok := e.(SendItem); ok && !td.HasArg("undelivered") {
			sent := Event{At: d.now, Fact: ItemSent{ID: deliver.Item.ID}}
			d.state, _ = Step(d.state, sent)
			d.events = append(d.events, sent)
		}
	}
	if unchanged {
		return out + "(nothing changes)\n"
	}
	return out + d.state.String() + "\n"
}

func (d *dialogue) fact(t *testing.T, td *datadriven.TestData) Fact {
	t.Helper()
	first := ""
	if len(td.CmdArgs) > 0 && len(td.CmdArgs[0].Vals) == 0 && td.CmdArgs[0].Key != "cut-off" {
		first = td.CmdArgs[0].Key
	}
	switch td.Cmd {
	case "orchestrator":
		return Started{Config: d.config(td, Orchestrator)}
	case "subagent":
		return Started{Config: d.config(td, SubAgent)}
	case "follow-up":
		return d.state.FollowUp(Started{Config: d.config(td, SubAgent)})
	case "toolrun":
		c := d.config(td, ToolRun)
		c.ToolCall = &ToolRunCall{Tool: argument(td, "tool"), Arguments: json.RawMessage(td.Input)}
		return Started{Config: c}
	case "message":
		return MessageArrived{Message: first, Text: td.Input, Answers: argument(td, "answers"), Call: argument(td, "call"), Images: attached(values(td, "images"))}
	case "model":
		return d.reply(td, first)
	case "model-fails":
		at, _ := strconv.Atoi(argument(td, "retry-at"))
		failure := map[string]ModelFailure{"retry": FailureRetry, "final": FailureFinal, "context": FailureContext, "budget": FailureBudget, "message-budget": FailureMessageBudget}[first]
		f := ModelFailed{Failure: failure, Message: td.Input, RetryTime: Time(at * 1000)}
		if r := d.state.ModelCall; r != nil {
			f.Call, f.Attempt = r.ID, r.Attempt
		}
		return f
	case "quota-reached":
		return QuotaReached{Call: first, Attempt: 1, QuotaWait: QuotaWait{Reason: "QuotaExhausted", Message: td.Input}}
	case "quota-granted":
		return QuotaGranted{Call: first, Attempt: 1}
	case "tool":
		outcome := ToolOutcome(argument(td, "outcome"))
		if outcome == "" {
			outcome = ToolSucceeded
		}
		return ToolFinished{Call: first, Outcome: outcome, Text: td.Input, Images: images(values(td, "images"))}
	case "tool-asks":
		n, _ := strconv.Atoi(argument(td, "answered"))
		number, _ := strconv.Atoi(argument(td, "number"))
		f := ToolAsked{Call: first, Question: td.Input, Number: number, Answered: n, Open: td.HasArg("open")}
		if state := argument(td, "state"); state != "" {
			f.State = json.RawMessage(strconv.Quote(state))
		}
		return f
	case "approve", "deny":
		digest, edited, editedDigest := argument(td, "digest"), "", ""
		if td.HasArg("edited") {
			edited, td.Input = td.Input, ""
			call := d.state.Batch[d.state.findUndecided(first)]
			digest, editedDigest = cmp.Or(digest, CallDigest(call.Tool, call.Arguments)), CallDigest(call.Tool, edited)
		}
		return Decided{Call: first, Approve: td.Cmd == "approve", Comment: td.Input, User: argument(td, "by"), Digest: digest, Arguments: edited, EditedDigest: editedDigest,
			Requesters: Requesters{Users: values(td, "requesters"), Unknown: td.HasArg("unknown-asker")}}
	case "answer":
		return Answered{Call: first, Text: td.Input, Images: attached(values(td, "images"))}
	case "child":
		return ChildFinished{Child: first, Outcome: outcome(t, td), Usage: usage(argument(td, "tokens"))}
	case "child-waits", "child-resumes":
		return ChildWaits{Child: first, Waiting: td.Cmd == "child-waits"}
	case "asks":
		return Asked{Agent: first, Task: first, Display: argument(td, "display"), Call: argument(td, "call"), Kind: AskQuestion, Text: td.Input, OfTool: td.HasArg("of-tool")}
	case "asks-approval":
		seconds, _ := strconv.Atoi(argument(td, "seconds"))
		return Asked{Agent: first, Task: first, Display: argument(td, "display"), Call: argument(td, "call"), Kind: AskApproval,
			Tool: argument(td, "tool"), Arguments: td.Input, DenyRequesters: td.HasArg("deny-requesters"), Timeout: Millis(seconds * 1000)}
	case "allow":
		f := Allowed{Message: first, Tool: argument(td, "tool"), User: argument(td, "by"), Call: argument(td, "call"), Comment: td.Input}
		for _, p := range values(td, "match") {
			name, glob, _ := strings.Cut(p, "~")
			f.Arguments = append(f.Arguments, pattern.Argument{Name: name, Pattern: glob})
		}
		return f
	case "revoke":
		return AllowanceRevoked{Allowance: argument(td, "allowance"), Message: first, User: argument(td, "by")}
	case "resumed":
		return AskResolved{Agent: first, Call: argument(td, "call"), AgentEnded: td.HasArg("gone"), Expired: td.HasArg("expired")}
	case "cancel":
		return Cancelled{Message: argument(td, "message"), User: argument(td, "by"), Reply: td.Input}
	case "remote-cancelled":
		return RemoteCancelled{Problem: td.Input}
	case "name-taken":
		return NameTaken{Name: first, Item: argument(td, "item"), Suffix: argument(td, "suffix")}
	case "sent":
		return ItemSent{ID: first, Name: argument(td, "name")}
	case "wake":
		return Woke{}
	case "restart":
		return Restarted{Unknown: values(td, "unknown")}
	}
	td.Fatalf(t, "unknown command %q", td.Cmd)
	return nil
}

// reply parses a model's reply. A line "call TOOL {...}" is a tool call, "problem TEXT" the problem of the call before it, and
// "reasoning JSON" a reasoning item, which belongs to the call before it if there is one. The arguments finish and tokens set those fields. All other lines are text.
func (d *dialogue) reply(td *datadriven.TestData, call string) Fact {
	f := ModelReplied{Call: call, Usage: usage(argument(td, "tokens"))}
	if f.Call == "" && d.state.ModelCall != nil {
		f.Call = d.state.ModelCall.ID
	}
	if td.HasArg("cut-off") {
		f.Finish = FinishLength
	}
	var text []string
	for line := range strings.Lines(td.Input) {
		line = strings.TrimSuffix(line, "\n")
		if problem, ok := strings.CutPrefix(line, "problem "); ok {
			f.Calls[len(f.Calls)-1].Problem = problem
			continue
		}
		if data, ok := strings.CutPrefix(line, "reasoning "); ok {
			item := ReasoningItem{API: "Anthropic", Model: "m", Data: json.RawMessage(data)}
			if n := len(f.Calls); n > 0 {
				item.Call = f.Calls[n-1].ID
			}
			f.ReasoningItems = append(f.ReasoningItems, item)
			continue
		}
		rest, ok := strings.CutPrefix(line, "call ")
		if !ok {
			text = append(text, line)
			continue
		}
		d.calls++
		tool, arguments, _ := strings.Cut(rest, " ")
		id := fmt.Sprintf("c%d", d.calls)
		if given := argument(td, "id"); given != "" {
			id = given
		}
		f.Calls = append(f.Calls, ToolCall{ID: id, Tool: tool, Arguments: arguments})
	}
	f.Text = strings.Join(text, "\n")
	return f
}

func (d *dialogue) config(td *datadriven.TestData, kind Kind) Config {
	c := Config{
		Kind: kind, Name: argument(td, "name"), MaxDepth: 2, Task: Task{Instruction: td.Input}, ParentRole: argument(td, "parent"),
		Role:   Role{Name: argument(td, "role"), Prompt: "You are helpful.", Allow: []string{"*"}, Approval: ApprovalMode(argument(td, "approval")), DenyRequesters: td.HasArg("deny-requesters")},
		Limits: Limits{MaxIterations: 20, MaxRetries: 2, MaxOutputTokens: 100, MaxRepeats: 5},
	}
	if c.Role.Name == "" {
		c.Role.Name = "orchestrator"
	}
	if kind != Orchestrator {
		c.Depth = 1
	}
	c.Remote = td.HasArg("remote")
	if td.HasArg("output") {
		c.OutputSchema = json.RawMessage(`{"type":"object","required":["verdict"],"properties":{"verdict":{"enum":["approve","reject"]}}}`)
	}
	if criteria := argument(td, "criteria"); criteria != "" {
		c.Task.SuccessCriteria = criteria
	}
	for key, field := range map[string]*int{"depth": &c.Depth, "max-depth": &c.MaxDepth, "iterations": &c.Limits.MaxIterations,
		"message-turns": &c.Limits.MaxTurnsPerMessage} {
		if n, err := strconv.Atoi(argument(td, key)); err == nil {
			*field = n
		}
	}
	for key, field := range map[string]*int64{"tokens": &c.Limits.MaxTokens, "context": &c.Limits.ContextTokens,
		"message-tasks": &c.Limits.MaxTasksPerMessage, "message-tokens": &c.Limits.MaxTokensPerMessage, "tasks": &c.Limits.MaxTasks} {
		if n, err := strconv.Atoi(argument(td, key)); err == nil {
			*field = int64(n)
		}
	}
	for key, field := range map[string]*Millis{"seconds": &c.Limits.MaxDuration, "approval-seconds": &c.Role.ApprovalTimeout} {
		if n, err := strconv.Atoi(argument(td, key)); err == nil {
			*field = Millis(n * 1000)
		}
	}
	c.Role.FailOnTimeout, c.Role.EditableApprovals = td.HasArg("fail-on-timeout"), td.HasArg("editable")
	for _, name := range values(td, "tools") {
		c.Tools = append(c.Tools, Tool{Name: name, ReadOnly: !slices.Contains([]string{"write", "patch", "bash", "deploy"}, name)})
	}
	if review := values(td, "review"); len(review) > 0 {
		c.Review = &Review{Role: review[0], MaxRounds: 2, Required: slices.Contains(review, "required")}
	}
	for _, name := range values(td, "skills") {
		c.Skills = append(c.Skills, Skill{Name: name, Description: "How to do\n  " + name + "."})
	}
	if len(c.Skills) > 0 {
		c.Tools = append(c.Tools, Tool{Name: "read_skill", ReadOnly: true, Granted: true})
		c.Role.Allow = []string{}
	}
	for _, name := range values(td, "delegates") {
		// "role:Tool" is offered as a tool with a schema, "role~Tool" as one without.
		role, tool, asTool := strings.Cut(strings.Replace(name, "~", ":", 1), ":")
		delegate := Delegate{Name: role, Description: "is good at being a " + role + "."}
		if asTool {
			delegate.AsTool = &AsTool{Name: tool}
		}
		if strings.Contains(name, ":") {
			delegate.AsTool.InputSchema = json.RawMessage(`{"type":"object"}`)
		}
		c.Delegates = append(c.Delegates, delegate)
	}
	if auto := values(td, "auto-answer"); len(auto) == 2 {
		c.AutoAnswer.Enabled = true
		c.AutoAnswer.MinConfidence, _ = strconv.Atoi(auto[0])
		c.AutoAnswer.MaxPerQuestion, _ = strconv.Atoi(auto[1])
	}
	return c
}

func (d *dialogue) showPrompt() string {
	p := BuildPrompt(d.state)
	var names []string
	for _, tool := range p.Tools {
		names = append(names, tool.Name)
	}
	return fmt.Sprintf("system: %s\ntools: %s\n%s", p.System, orNone(names), lines(p.Messages))
}

// outcome parses "success", with the result as input (JSON or text), or an error kind with the error as input.
func outcome(t *testing.T, td *datadriven.TestData) Outcome {
	t.Helper()
	kind := td.CmdArgs[1].Key
	o := Outcome{Iterations: 3, Duration: 4500}
	if kind == "success" {
		o.Result = &Result{Text: td.Input}
		if strings.HasPrefix(td.Input, "{") {
			o.Result = &Result{}
			if err := json.Unmarshal([]byte(td.Input), o.Result); err != nil {
				td.Fatalf(t, "result: %v", err)
			}
		}
		return o
	}
	o.Kind, o.Error = ErrorKind(kind), td.Input
	return o
}

func attached(sizes []string) []Image {
	list := images(sizes)
	for i := range list {
		list[i].Name = fmt.Sprintf("picture-%d.png", i+1)
	}
	return list
}

func images(sizes []string) []Image {
	var list []Image
	for i, size := range sizes {
		n, _ := strconv.ParseInt(size, 10, 64)
		list = append(list, Image{Digest: fmt.Sprintf("sha256:%d", i), MediaType: "image/png", Size: n})
	}
	return list
}

func usage(tokens string) budget.Usage {
	n, _ := strconv.ParseInt(tokens, 10, 64)
	return budget.Usage{PromptTokens: n, ModelCalls: 1}
}

func argument(td *datadriven.TestData, key string) string {
	if v := values(td, key); len(v) > 0 {
		return v[0]
	}
	return ""
}

func values(td *datadriven.TestData, key string) []string {
	for _, arg := range td.CmdArgs {
		if arg.Key == key {
			return arg.Vals
		}
	}
	return nil
}

func effectLines(effects []Effect) string {
	var b strings.Builder
	for _, e := range effects {
		fmt.Fprintf(&b, "-> %s\n", e)
	}
	return b.String()
}

func lines[T fmt.Stringer](items []T) string {
	var b strings.Builder
	for _, item := range items {
		fmt.Fprintln(&b, item)
	}
	return b.String()
}

func withoutClock(s State) string {
	s.Clock = Clock{}
	return toJSON(s)
}
