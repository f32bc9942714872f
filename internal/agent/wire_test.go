// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nestor-dev/nestor/internal/agent/budget"
	"github.com/nestor-dev/nestor/internal/agent/pattern"
)

// everyFact returns one event of each type with every field set. testdata/golden/events.jsonl represents logs of earlier
// releases: if it changes, such logs must still be readable.
func everyFact() []Event {
	three, cost, left := 3, int64(12), int64(4)
	config := Config{
		Kind: SubAgent, Name: "chat-1", TaskName: "chat-0", ParentRole: "Orchestrator", Depth: 1, MaxDepth: 2,
		Role: Role{Name: "coder", DisplayName: "Coder", Prompt: "You write code.", Allow: []string{"read", "b*"}, Deny: []string{"bad"},
			Approval: ApproveWrites, ApprovalTools: []string{"read"}},
		Task: Task{Instruction: "work", Arguments: json.RawMessage(`{"a":1}`), ContextFiles: []string{"a.go"}, SuccessCriteria: "it works",
			WorkingDir: "src", Context: "earlier talk"},
		ToolCall:  &ToolRunCall{Tool: "read", Arguments: json.RawMessage(`{}`)},
		Tools:     []Tool{{Name: "read", Description: "reads", Parameters: json.RawMessage(`{"type":"object"}`), BuiltIn: true, ReadOnly: true, Idempotent: true}},
		Delegates: []Delegate{{Name: "tester", DisplayName: "Tester", Description: "tests", When: []string{"testing"}, AsTool: &AsTool{Name: "Test", InputSchema: json.RawMessage(`{}`)}}},
		Limits: Limits{MaxIterations: 9, MaxDuration: 300_000, MaxTokens: 100_000, MaxCostMicros: 5, MaxOutputTokens: 100, ContextTokens: 128_000, MaxRetries: 2,
			MaxTasks: 7, MaxTurnsPerMessage: 25, MaxTasksPerMessage: 100, MaxTokensPerMessage: 2_000_000, MaxRepeats: 5},
		AutoAnswer: AutoAnswer{Enabled: true, MinConfidence: 70, MaxPerQuestion: 2},
		Price:      &Price{Input: 1, Output: 2},
	}
	call := ToolCall{ID: "c1", Tool: "read", Arguments: `{"path":"a"}`}
	usage := budget.Usage{PromptTokens: 10, CompletionTokens: 5, ModelCalls: 1, CostMicros: &cost, Tasks: 2}
	result := &Result{Text: "all", Summary: "some", Details: "much", FilesModified: []string{"a"}, FilesCreated: []string{"b"},
		TestsRun: &three, TestsPassed: &three, Warnings: []string{"w"}, Suggestions: []string{"s"}}
	facts := []Fact{
		Started{Config: config, History: []Message{{Speaker: Assistant, Text: "before", Calls: []ToolCall{call}, At: 1}, {Speaker: ToolSpeaker, Text: "x", Call: "c1", Outcome: ToolSucceeded, At: 2}}},
		MessageArrived{Message: "m", Text: "hello", Answers: "chat-1", Call: "q1", TreeUsage: budget.Amount{Tokens: 9, CostMicros: 8, Tasks: 7}},
		ModelReplied{Call: "m1", Text: "hi", Calls: []ToolCall{call}, Usage: usage, Finish: FinishLength, TasksLeft: &left},
		ModelFailed{Call: "m1", Attempt: 2, Failure: FailureRetry, Message: "429", RetryTime: 77},
		ToolFinished{Call: "c1", Outcome: ToolSucceeded, Text: "ok"},
		Decided{Call: "c1", Approve: true, Comment: "careful", Digest: CallDigest("read", `{"path":"a"}`), User: "alice"},
		Answered{Call: "c1", Text: "2024"},
		ChildFinished{Child: "chat-1-1", Usage: usage, Outcome: Outcome{Kind: ErrorTimedOut, Error: "late", Result: result, Iterations: 4, Duration: 99}},
		ChildWaits{Child: "chat-1-1", Waiting: true},
		Asked{Agent: "chat-1", UID: "u-1", Display: "Coder", Task: "chat-1", Call: "q1", Kind: AskApproval, Text: "may I?", Tool: "bash", Arguments: "{}"},
		AskResolved{Agent: "chat-1", Call: "q1", AgentEnded: true},
		Cancelled{Message: "m2", User: "alice"},
		Woke{},
		Restarted{Unknown: []string{"c1"}, OpenCalls: OpenCalls{InFlight: []string{"c2"}, Interrupted: []string{"c3"}}},
		ItemSent{ID: "post/1"},
		NameTaken{Name: "chat-post-1", Item: "post/1", Suffix: "x7k2p"},
		Resumed{},
		QuotaReached{Call: "m1", Attempt: 2, QuotaWait: QuotaWait{Reason: "QuotaExhausted", Message: "used up"}},
		QuotaGranted{Call: "m1", Attempt: 2},
		StartPublished{},
		Reconfigured{Config: &config, Hold: &Hold{Generation: 3, Reason: "RoleNotFound", Message: "Create it."}},
		Quarantined{Kind: SubAgent, Name: "chat-1", Event: 7, Type: "ModelReplied", Reason: "it is damaged", Panicked: true, Usage: usage, ModelCalls: 9},
		RemoteCancelled{Problem: "it cannot be reached"},
		ToolAsked{Call: "c1", Question: "Which?", Number: 2, Answered: 1, Open: true, State: json.RawMessage(`{"n":1}`)},
		Allowed{Message: "m3", Tool: "write", Arguments: []pattern.Argument{{Name: "path", Pattern: "docs/*"}}, User: "alice", UID: "u-1", Call: "c1", Comment: "fine"},
		AllowanceRevoked{Allowance: "m3", Message: "m4", User: "bob"},
		Judged{Policed: true, Waits: "it does not compile", Calls: []JudgedCall{{Call: "c1", Labels: []string{"untrusted"}, Verdicts: []Verdict{{
			Policy: "team/writes", UID: "u-2", Generation: 3, Digest: "d", Rule: "people", Message: "Ask.", Action: PolicyRequireApproval,
			Failed: true, Audit: true, DenyRequesters: true, ExactAllowance: true,
		}}}}},
		Forked{
			Fork: Fork{Origin: "u-3", Sequence: 7, End: 9, Replies: RepliesLive, Results: ResultsReadOnly}, Name: "fork", TaskName: "task", Config: &config,
			Notes: []string{"The files are not those of the run."}, Instruction: "Go on.", Labels: []string{"secret"},
			Requesters: Requesters{Users: []string{"alice"}}, Policed: true,
		},
		Recalled{Calls: []RecalledCall{
			{Call: "c1", Outcome: ToolSucceeded, Text: "text", Images: []Image{{Digest: "sha256:1", MediaType: "image/png"}}, ResultDigest: "d", Labels: []string{"secret"}},
			{Call: "c2", Reviewer: &Outcome{Result: &Result{Text: "judged"}}}, {Call: "c3", Missing: true, Expected: "read {}"},
		}},
	}
	events := make([]Event, len(facts))
	for i, f := range facts {
		events[i] = Event{At: Time(1000 + i), Fact: f}
	}
	return events
}

func TestEventEncodingIsStable(t *testing.T) {
	const path = "testdata/golden/events.jsonl"
	var log bytes.Buffer
	events := everyFact()
	for _, e := range events {
		line, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		log.Write(line)
		log.WriteByte('\n')
	}
	golden := readGolden(t, path, log.Bytes())
	if diff := cmp.Diff(golden, log.String()); diff != "" {
		t.Errorf("the encoding of events has changed (-golden +now):\n%s", diff)
	}
	var read []Event
	for line := range strings.Lines(golden) {
		var e Event
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		read = append(read, e)
	}
	if diff := cmp.Diff(events, read); diff != "" {
		t.Errorf("the decoding of events has changed (-want +read):\n%s", diff)
	}
	if len(facts) != len(events) {
		t.Errorf("%d types of facts, but %d in the golden file", len(facts), len(events))
	}
}

func TestOldLogReplays(t *testing.T) {
	log, err := os.ReadFile("testdata/golden/log.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	var s State
	for line := range strings.Lines(string(log)) {
		var e Event
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		s, _ = Step(s, e)
	}
	encoded, err := EncodeState(s)
	if err != nil {
		t.Fatal(err)
	}
	var pretty bytes.Buffer
	if err := json.Indent(&pretty, encoded, "", "  "); err != nil {
		t.Fatal(err)
	}
	golden := readGolden(t, "testdata/golden/state.json", pretty.Bytes())
	if diff := cmp.Diff(golden, pretty.String()); diff != "" {
		t.Errorf("the log replays to a different state (-golden +now):\n%s", diff)
	}
	decoded, err := DecodeState([]byte(golden))
	if err != nil {
		t.Fatal(err)
	}
	if encode(decoded) != encode(s) {
		t.Error("the state changes when it is encoded and decoded")
	}
}

func TestNewerVersionsAreRefused(t *testing.T) {
	var e Event
	for text, want := range map[string]string{
		`{"v":3,"type":"Woke","time":1}`:                "upgrade",
		`{"v":0,"type":"Woke","time":1}`:                "version 0",
		`{"v":1,"type":"Exploded","time":1}`:            "Exploded",
		`{"v":1,"type":"Woke","time":"now"}`:            "decode event",
		`{"v":1,"type":"Answered","time":1,"fact":[1]}`: "decode Answered",
	} {
		err := json.Unmarshal([]byte(text), &e)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want an error with %q", text, err, want)
		}
	}
	if _, err := DecodeState([]byte(`{"v":2}`)); err == nil || !strings.Contains(err.Error(), "replay the events") {
		t.Errorf("a newer state: %v", err)
	}
}

// readGolden returns the content of a golden file. With -rewrite it writes the file first.
func readGolden(t *testing.T, path string, now []byte) string {
	t.Helper()
	if flag.Lookup("rewrite").Value.String() == "true" {
		if err := os.WriteFile(path, now, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	golden, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(golden)
}
