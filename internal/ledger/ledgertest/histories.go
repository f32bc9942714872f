// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package ledgertest

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nestor-dev/nestor/internal/ledger"
)

func testAppendThenLoad(t *testing.T, db Database) {
	l := db.Open(t)
	agent := Agent("a")
	agent.Parent, agent.Root, agent.Depth = "p", "r", 2
	first := First(agent, 2)
	first.Events[0].Data = json.RawMessage(`{"b" : 1, "a":"\u0000 é 漢 🙂", "b": 2 }`)
	Append(t, l, first, ledger.Batch{
		Agent: "a", After: 2, Events: Events("more", 1), Finish: &ledger.Finish{Status: ledger.StatusFailed, ErrorKind: "TimedOut", At: at(9)},
	})

	agent.LastSeq, agent.Status, agent.ErrorKind, agent.FinishedAt = 3, ledger.StatusFailed, "TimedOut", at(9)
	want := ledger.History{Agent: agent, Events: append(numbered(0, first.Events), numbered(2, Events("more", 1))...)}
	// Another process must read the same.
	for _, reader := range []ledger.Ledger{l, db.Open(t)} {
		if diff := cmp.Diff(want, must(reader.Load(t.Context(), "a"))(t)); diff != "" {
			t.Errorf("history (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(want.Agent, must(reader.Agent(t.Context(), "a"))(t)); diff != "" {
			t.Errorf("agent (-want +got):\n%s", diff)
		}
	}
}

func testEventsComeInPages(t *testing.T, db Database) {
	l := db.Open(t)
	batch := First(Agent("a"), 25)
	Append(t, l, batch, First(Agent("b"), 3))
	var got []ledger.Event
	for {
		var after int64
		if len(got) > 0 {
			after = got[len(got)-1].Seq
		}
		page := must(l.Events(t.Context(), "a", after, 10))(t)
		if len(page) == 0 {
			break
		}
		if len(page) > 10 {
			t.Fatalf("a page of 10 has %d events", len(page))
		}
		got = append(got, page...)
	}
	if diff := cmp.Diff(numbered(0, batch.Events), got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	if page := must(l.Events(t.Context(), "nobody", 0, 0))(t); len(page) != 0 {
		t.Errorf("an unknown agent has %d events", len(page))
	}
}

func testSnapshotShortensLoad(t *testing.T, db Database) {
	l := db.Open(t)
	first := First(Agent("a"), 3)
	first.Snapshot = json.RawMessage(`{"state": "old"}`)
	second := ledger.Batch{Agent: "a", After: 3, Events: Events("second", 4), Snapshot: json.RawMessage(`{"state": "new"}`)}
	third := ledger.Batch{Agent: "a", After: 7, Events: Events("third", 2)}
	Append(t, l, first, second, third)

	history := must(l.Load(t.Context(), "a"))(t)
	if diff := cmp.Diff(&ledger.Snapshot{Seq: 7, Data: second.Snapshot}, history.Snapshot); diff != "" {
		t.Errorf("snapshot (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(numbered(7, third.Events), history.Events); diff != "" {
		t.Errorf("events after the snapshot (-want +got):\n%s", diff)
	}
	if all := must(l.Events(t.Context(), "a", 0, 0))(t); len(all) != 9 {
		t.Errorf("%d events, want all 9: a snapshot must not remove any", len(all))
	}
}

func testUnknownAgentIsNotFound(t *testing.T, db Database) {
	l := db.Open(t)
	_, agentErr := l.Agent(t.Context(), "x")
	_, loadErr := l.Load(t.Context(), "x")
	_, modelErr := l.ModelCall(t.Context(), "x")
	_, toolErr := l.ToolCall(t.Context(), "x")
	_, outputErr := l.ToolOutput(t.Context(), "x", "y", 0, 1)
	appendErr := l.Append(t.Context(), ledger.Batch{Agent: "x", After: 5, Events: Events("x", 1)})
	for what, err := range map[string]error{
		"agent": agentErr, "load": loadErr, "model call": modelErr, "tool call": toolErr, "output": outputErr, "append": appendErr,
	} {
		if !errors.Is(err, ledger.ErrNotFound) {
			t.Errorf("%s: %v, want ErrNotFound", what, err)
		}
	}
}

func testAgentsByFilter(t *testing.T, db Database) {
	l := db.Open(t)
	seed := func(uid, namespace, kind, role string, seconds int, finish bool) {
		a := Agent(uid)
		a.Namespace, a.Kind, a.Role, a.CreatedAt = namespace, kind, role, at(seconds)
		if uid == "u2" || uid == "u4" {
			a.Parent = "u1"
		}
		batch := First(a, 1)
		if uid == "u1" || uid == "u2" {
			batch.ModelCalls = []ledger.ModelCall{modelCall(uid+"/model/m1/1", seconds)}
		}
		if finish {
			batch.Finish = &ledger.Finish{Status: ledger.StatusSuccess, At: at(seconds + 1)}
		}
		Append(t, l, batch)
	}
	seed("u1", "team-a", "AgentChat", "orchestrator", 1, false)
	seed("u2", "team-a", "SubAgent", "coder", 2, true)
	seed("u3", "team-b", "SubAgent", "coder", 3, false)
	seed("u4", "team-b", "SubAgent", "tester", 3, false)

	for name, test := range map[string]struct {
		filter ledger.AgentFilter
		want   []string
	}{
		"all":       {ledger.AgentFilter{}, []string{"u1", "u2", "u3", "u4"}},
		"live":      {ledger.AgentFilter{Live: true}, []string{"u1", "u3", "u4"}},
		"open call": {ledger.AgentFilter{EndedWithOpenCalls: true}, []string{"u2"}},
		"namespace": {ledger.AgentFilter{Scope: ledger.Scope{Namespace: "team-b"}}, []string{"u3", "u4"}},
		"kind":      {ledger.AgentFilter{Kind: "AgentChat"}, []string{"u1"}},
		"name":      {ledger.AgentFilter{Name: "u2-name"}, []string{"u2"}},
		"parent":    {ledger.AgentFilter{Parent: "u1"}, []string{"u2", "u4"}},
		"role":      {ledger.AgentFilter{Scope: ledger.Scope{Role: "coder"}}, []string{"u2", "u3"}},
		"since":     {ledger.AgentFilter{Scope: ledger.Scope{Since: at(2)}}, []string{"u2", "u3", "u4"}},
		"until":     {ledger.AgentFilter{Scope: ledger.Scope{Until: at(2)}}, []string{"u1"}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, limit := range []int{1, 2, 0} {
				got := pages(t, limit, func(p ledger.Page) (ledger.List[ledger.Agent], error) {
					return l.Agents(t.Context(), test.filter, p)
				})
				if diff := cmp.Diff(test.want, names(got, func(a ledger.Agent) string { return a.UID })); diff != "" {
					t.Errorf("pages of %d (-want +got):\n%s", limit, diff)
				}
			}
		})
	}
	if _, err := l.Agents(t.Context(), ledger.AgentFilter{}, ledger.Page{Cursor: "nonsense"}); !errors.Is(err, ledger.ErrInvalid) {
		t.Errorf("an invalid cursor: %v, want ErrInvalid", err)
	}
}
