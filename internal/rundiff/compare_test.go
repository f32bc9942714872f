// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package rundiff_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	historyv1 "github.com/nestor-dev/nestor/api/history/v1beta1"
	"github.com/nestor-dev/nestor/internal/rundiff"
)

// recording builds the entries of a run.
type recording struct {
	name  string
	run   rundiff.Run
	calls int
}

func record(name string) *recording {
	r := &recording{name: name}
	r.run.Transcript.Name = "subagent." + name
	return r.add(historyv1.Entry{Kind: historyv1.EntryStarted, Content: "Add it up.", SystemPrompt: "You add."})
}

func (r *recording) add(e historyv1.Entry) *recording {
	e.Seq = int64(len(r.run.Entries) + 1)
	r.run.Entries = append(r.run.Entries, e)
	return r
}

// reply adds a reply with tool calls given as "TOOL ARGUMENTS". The IDs of calls differ between runs.
func (r *recording) reply(text string, calls ...string) *recording {
	e := historyv1.Entry{Kind: historyv1.EntryAssistant, Content: text, Usage: tokens(100, 10_000)}
	for _, call := range calls {
		tool, arguments, _ := strings.Cut(call, " ")
		r.calls++
		e.ToolCalls = append(e.ToolCalls, historyv1.ToolCall{ID: r.id(r.calls), Tool: tool, Arguments: arguments, Phase: historyv1.ToolCallRunning})
	}
	e.ModelCall = fmt.Sprintf("uid-%s.m%d.1", r.name, len(r.run.Entries))
	return r.add(e)
}

func (r *recording) id(call int) string { return fmt.Sprintf("%s-%d", r.name, call) }

// result adds the result of the nth call.
func (r *recording) result(call int, text string) *recording {
	return r.add(historyv1.Entry{Kind: historyv1.EntryToolResult, Content: text, ToolCalls: []historyv1.ToolCall{
		{ID: r.id(call), Tool: "calculator", Phase: historyv1.ToolCallSuccess},
	}})
}

func (r *recording) end(result string) *recording {
	r.run.Entries[len(r.run.Entries)-1].Outcome = &historyv1.Outcome{Result: result}
	return r
}

func tokens(n, micros int64) *historyv1.TokenUsage {
	return &historyv1.TokenUsage{PromptTokens: &n, CostMicros: &micros, Currency: "USD"}
}

// show returns a line for each row: its sign, and the steps of both runs if it is not the same.
func show(c rundiff.Comparison) []string {
	var lines []string
	for i, row := range c.Rows {
		mark := " "
		if i+1 == c.FirstDifference {
			mark = ">"
		}
		line := mark + map[rundiff.Change]string{rundiff.Same: "=", rundiff.Changed: "~", rundiff.Removed: "-", rundiff.Added: "+"}[row.Change]
		for _, step := range []*rundiff.Step{row.First, row.Second} {
			if step != nil {
				line += " " + strings.Join(strings.Fields(fmt.Sprint(step.Kind, " ", step.Tool, " ", step.Text)), " ")
			}
			if row.Change == rundiff.Same {
				break
			}
		}
		lines = append(lines, strings.Join(append([]string{line}, row.Differs...), " !"))
	}
	return lines
}

func TestCompare(t *testing.T) {
	base := func() *recording { return record("first").reply("", `calculator {"a":1,"b":2}`).result(1, "3") }
	for name, tc := range map[string]struct {
		first, second *recording
		want          []string
	}{
		"the same, with other IDs and spaces": {
			base().reply("done").end("3"), record("second").reply("", `calculator { "b": 2, "a": 1 }`).result(1, "3").reply("done").end("3"),
			[]string{" = Input Add it up.", " = ModelCall", " = ToolCall calculator", " = ModelCall done", " = End 3"},
		},
		"other arguments": {
			base().reply("done"), record("second").reply("", `calculator {"a":1,"b":3}`).result(1, "4").reply("done"),
			[]string{" = Input Add it up.", " = ModelCall", ">~ ToolCall calculator ToolCall calculator !arguments !result", " = ModelCall done"},
		},
		"another result of the same call": {
			base().reply("three"), record("second").reply("", `calculator {"a":1,"b":2}`).result(1, "4").reply("four"),
			[]string{" = Input Add it up.", " = ModelCall", ">~ ToolCall calculator ToolCall calculator !result", " ~ ModelCall three ModelCall four !text"},
		},
		"a call more": {
			base().reply("done"), base().reply("", `calculator {"a":3,"b":3}`).result(2, "6").reply("done"),
			[]string{" = Input Add it up.", " = ModelCall", " = ToolCall calculator", ">+ ModelCall", " + ToolCall calculator", " = ModelCall done"},
		},
		"a run that is not as far": {
			base().reply("done").end("3"), base(),
			[]string{" = Input Add it up.", " = ModelCall", " = ToolCall calculator", ">- ModelCall done", " - End 3"},
		},
		"large integers": {
			record("first").reply("", `calculator {"a":9007199254740993}`), record("second").reply("", `calculator {"a":9007199254740992}`),
			[]string{" = Input Add it up.", " = ModelCall", ">~ ToolCall calculator ToolCall calculator !arguments"},
		},
		"arguments that are no JSON": {
			record("first").reply("", `calculator {"a":`), record("second").reply("", `calculator {"a":`),
			[]string{" = Input Add it up.", " = ModelCall", " = ToolCall calculator"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := rundiff.Compare(tc.first.run, tc.second.run)
			if lines := show(got); !slices.Equal(lines, tc.want) {
				t.Errorf("got:\n%s\nwant:\n%s", strings.Join(lines, "\n"), strings.Join(tc.want, "\n"))
			}
			if got.Same != (got.FirstDifference == 0) {
				t.Errorf("same is %t with the first difference at %d", got.Same, got.FirstDifference)
			}
		})
	}
}

func TestOrderOfParallelResultsDoesNotMatter(t *testing.T) {
	calls := []string{`calculator {"a":1}`, `calculator {"a":2}`}
	first := record("first").reply("", calls...).result(1, "1").result(2, "2").reply("done")
	second := record("second").reply("", calls...).result(2, "2").result(1, "1").reply("done")
	if got := rundiff.Compare(first.run, second.run); !got.Same {
		t.Errorf("they differ:\n%s", strings.Join(show(got), "\n"))
	}
}

func TestDecisionsAreCompared(t *testing.T) {
	decided := func(name, user, arguments string) rundiff.Run {
		r := record(name).reply("", `calculator {"a":1}`)
		return r.add(historyv1.Entry{Kind: historyv1.EntryDecision, User: user, Decision: "Approve", ToolCalls: []historyv1.ToolCall{
			{ID: r.id(1), Tool: "calculator", Arguments: arguments, Phase: historyv1.ToolCallRunning},
		}}).run
	}
	if got := rundiff.Compare(decided("first", "alice", ""), decided("second", "bob", "")); !got.Same {
		t.Errorf("another person: %q", show(got))
	}
	got := rundiff.Compare(decided("first", "alice", ""), decided("second", "alice", `{"a":2}`))
	if want := ">~ ToolCall calculator ToolCall calculator !decision"; show(got)[2] != want {
		t.Errorf("changed arguments: %q, want %q", show(got)[2], want)
	}
}

// delegating returns an orchestrator whose call ends when its children start.
func delegating(name string, results ...string) rundiff.Run {
	r := record(name).reply("", `delegate_to_agent {"task":"x"}`)
	last := &r.run.Entries[len(r.run.Entries)-1]
	started := ""
	for i := range results {
		child := historyv1.ChildRun{Name: fmt.Sprintf("%s-%d", name, i+1), ToolCall: r.id(1)}
		last.Children = append(last.Children, child)
		started += "Started " + child.Name + ". "
	}
	last.ToolCalls[0].Phase, last.ToolCalls[0].Result = historyv1.ToolCallSuccess, started
	r.reply("Wait for " + name + "-1.")
	for i, result := range results {
		// the children of the second run end in the other order
		if name == "second" {
			i, result = len(results)-1-i, results[len(results)-1-i]
		}
		r.add(historyv1.Entry{Kind: historyv1.EntryChildResult, Child: fmt.Sprintf("%s-%d", name, i+1), Content: result, Usage: tokens(1000, 1)})
	}
	return r.run
}

func TestChildrenAreComparedByWhatTheyReport(t *testing.T) {
	first := delegating("first", "one", "two")
	if got := rundiff.Compare(first, delegating("second", "one", "two")); !got.Same || got.First.Usage.Tokens != 2200 {
		t.Errorf("%d tokens, %q", got.First.Usage.Tokens, show(got))
	}
	got := rundiff.Compare(first, delegating("second", "one", "three"))
	if row := got.Rows[got.FirstDifference-1]; !slices.Equal(row.Differs, []string{"result"}) || !slices.Equal(row.Second.Children, []string{"second-1", "second-2"}) {
		t.Errorf("the first difference is %+v", row)
	}
}

func TestResultsOfChildrenAnswerWaitingCalls(t *testing.T) {
	r := record("first").reply("", `delegate_to_agent {"task":"x"}`)
	last := &r.run.Entries[len(r.run.Entries)-1]
	last.Children = []historyv1.ChildRun{{Name: "first-1", ToolCall: r.id(1)}}
	last.ToolCalls[0].Phase = historyv1.ToolCallDelegated
	r.add(historyv1.Entry{Kind: historyv1.EntryChildResult, Child: "first-1", Content: "one", Usage: tokens(5, 5), ToolCalls: []historyv1.ToolCall{
		{ID: r.id(1), Tool: "delegate_to_agent", Phase: historyv1.ToolCallSuccess},
	}})
	step := rundiff.Compare(r.run, r.run).Rows[2].First
	if step.Result != "one" || step.Phase != historyv1.ToolCallSuccess || step.Usage.Tokens != 5 {
		t.Errorf("the call is %+v", step)
	}
}

func TestRepeatedAttemptsCostButAreNoDifference(t *testing.T) {
	plain := record("first").reply("done")
	again := record("second").add(historyv1.Entry{Kind: historyv1.EntryError, Error: "Retry", Content: "overloaded", Usage: tokens(7, 1)}).reply("done")
	got := rundiff.Compare(plain.run, again.run)
	if !got.Same || got.First.Usage.Tokens != 100 || got.Second.Usage.Tokens != 107 || got.Second.Usage.CostMicros["USD"] != 10_001 {
		t.Errorf("%+v, %+v: %q", got.First.Usage, got.Second.Usage, show(got))
	}
	failed := record("second").add(historyv1.Entry{Kind: historyv1.EntryError, Error: "Final", Content: "no such model"})
	if got := rundiff.Compare(plain.run, failed.run); got.FirstDifference != 2 {
		t.Errorf("a final error: %q", show(got))
	}
}

// Some models count the IDs of their calls anew in each reply.
func TestRepeatedCallIDsAreOtherCalls(t *testing.T) {
	run := func(second string) rundiff.Run {
		r := record("first").reply("", `calculator {"a":1}`).result(1, "1")
		r.calls = 0
		return r.reply("", `calculator {"a":2}`).result(1, second).run
	}
	got := rundiff.Compare(run("2"), run("3"))
	if got.First.ToolCalls != 2 || got.FirstDifference != 5 || got.Rows[2].First.Result != "1" {
		t.Errorf("%d calls: %q", got.First.ToolCalls, show(got))
	}
}

func TestTimeOfCallsExcludesWaiting(t *testing.T) {
	r := record("first").reply("", `calculator {"a":1}`).result(1, "1")
	start := metav1.NewMicroTime(time.Unix(1000, 0))
	at := func(seconds int) *metav1.MicroTime {
		end := metav1.NewMicroTime(start.Add(time.Duration(seconds) * time.Second))
		return &end
	}
	calls := []historyv1.SegmentCall{{ID: r.id(1), Tool: "calculator"}}
	r.run.Segments = []historyv1.Segment{
		{Kind: historyv1.SegmentModel, ModelCall: "uid-first.m1.1", StartTime: start, EndTime: at(2)},
		{Kind: historyv1.SegmentQueue, StartTime: *at(2), EndTime: at(3)},
		{Kind: historyv1.SegmentModel, ModelCall: "uid-first.m1.2", StartTime: *at(3), EndTime: at(7)},
		{Kind: historyv1.SegmentUser, ToolCalls: calls, StartTime: *at(7), EndTime: at(60)},
		{Kind: historyv1.SegmentTool, ModelCall: "uid-first.m1.2", ToolCalls: calls, StartTime: *at(60), EndTime: at(61)},
		{Kind: historyv1.SegmentIdle, StartTime: *at(61), EndTime: at(90)},
		{Kind: historyv1.SegmentModel, ModelCall: "uid-first.m3.1", StartTime: *at(90)},
	}
	got := rundiff.Compare(r.run, r.run)
	if got.First.DurationMillis != 61_000 || got.First.WaitedMillis != 53_000 {
		t.Errorf("the run took %d ms and waited %d ms", got.First.DurationMillis, got.First.WaitedMillis)
	}
	if model, tool := got.Rows[1].First.DurationMillis, got.Rows[2].First.DurationMillis; model != 6_000 || tool != 1_000 {
		t.Errorf("the model took %d ms, the tool %d ms", model, tool)
	}
}

func TestDetailShowsLines(t *testing.T) {
	first := record("first").reply("", `write {"path":"a","content":"x"}`)
	second := record("second").reply("", `write {"path":"b","content":"x"}`)
	c := rundiff.Compare(first.run, second.run)
	want := "@@ -1,4 +1,4 @@\n {\n   \"content\": \"x\",\n-  \"path\": \"a\"\n+  \"path\": \"b\"\n }\n"
	if got := c.Rows[c.FirstDifference-1].Detail("arguments"); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}
