// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package ledgertest

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/nestor-dev/nestor/internal/ledger"
)

// start is the base time of the suite. It uses the full precision of the ledger.
var start = time.Date(2026, 3, 4, 5, 6, 7, 89_012_000, time.UTC)

// at returns the time some seconds after start.
func at(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }

func ptr[T any](v T) *T { return &v }

// Agent returns the record of an agent at the root of a tree.
func Agent(uid string) ledger.Agent {
	return ledger.Agent{
		UID: uid, Kind: "SubAgent", Namespace: "team-a", Name: uid + "-name", Root: uid, Chat: "release", Role: "coder", RoleRevision: "0a1b", Depth: 1,
		Provider: "default", Model: "small", CreatedAt: start,
	}
}

// Events returns n events that contain their origin.
func Events(from string, n int) []ledger.Event {
	events := make([]ledger.Event, n)
	name, err := json.Marshal(from)
	if err != nil {
		panic(err) // Encoding a string cannot fail.
	}
	for i := range events {
		events[i] = ledger.Event{
			Type: "Tested", At: at(i), Data: json.RawMessage(fmt.Sprintf(`{"version": 1, "from": %s, "n": %d}`, name, i)),
		}
	}
	return events
}

// numbered returns events as the ledger returns them after they were appended after a sequence number.
func numbered(after int64, events []ledger.Event) []ledger.Event {
	out := make([]ledger.Event, len(events))
	for i, e := range events {
		e.Seq = after + int64(i) + 1
		out[i] = e
	}
	return out
}

// First returns the batch that starts an agent with n events.
func First(agent ledger.Agent, n int) ledger.Batch {
	return ledger.Batch{Agent: agent.UID, Create: &agent, Events: Events(agent.UID, n)}
}

// Append appends batches and fails the test on an error.
func Append(t testing.TB, l ledger.Ledger, batches ...ledger.Batch) {
	t.Helper()
	for _, b := range batches {
		if err := l.Append(t.Context(), b); err != nil {
			t.Fatalf("append: %v", err)
		}
	}
}

func modelCall(key string, seconds int) ledger.ModelCall {
	return ledger.ModelCall{
		Key: key, Iteration: 1, Provider: "default", Model: "small", Request: json.RawMessage(`{}`), StartedAt: at(seconds),
	}
}

func modelDone(key string, status ledger.Status, seconds int) ledger.ModelResult {
	return ledger.ModelResult{Key: key, Status: status, FinishedAt: at(seconds)}
}

func toolCall(key, callID string, seconds int) ledger.ToolCall {
	return ledger.ToolCall{Key: key, CallID: callID, Tool: "bash", Arguments: `{"command": "ls"}`, StartedAt: at(seconds)}
}

func pages[T any](t testing.TB, limit int, read func(ledger.Page) (ledger.List[T], error)) []T {
	t.Helper()
	var items []T
	page := ledger.Page{Limit: limit}
	for more := true; more; more = page.Cursor != "" {
		list := must(read(page))(t)
		if len(list.Items) > page.Size() {
			t.Fatalf("a page of %d has %d items", page.Size(), len(list.Items))
		}
		items = append(items, list.Items...)
		page.Cursor = list.Next
	}
	return items
}

func names[T any](items []T, name func(T) string) []string {
	out := make([]string, len(items))
	for i, item := range items {
		out[i] = name(item)
	}
	return out
}

func must[T any](value T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}
