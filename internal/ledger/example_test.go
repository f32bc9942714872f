// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/ledger/connect"
)

// A writer records the intent of a call, makes the call, and records the result together with the event that reports it to the
// agent.
func Example() {
	dir, err := os.MkdirTemp("", "ledger-")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if err := runExample(context.Background(), "sqlite:"+filepath.Join(dir, "ledger.db")); err != nil {
		fmt.Println(err)
	}
	// Output:
	// after a crash here: 1 model call without a result
	// Success: {"answer": 42}
	// a second operator: conflict at event 2, the newest is 2
}

func runExample(ctx context.Context, dsn string) error {
	l, err := connect.Open(ctx, dsn)
	if err != nil {
		return err
	}
	defer func() { _ = l.Close() }()
	now := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	event := func(kind string) []ledger.Event {
		return []ledger.Event{{Type: kind, At: now, Data: json.RawMessage(`{"version": 1}`)}}
	}

	// Intent before effect.
	agent := ledger.Agent{UID: "a1", Root: "a1", Kind: "SubAgent", Namespace: "team", Name: "answer", Role: "coder", CreatedAt: now}
	call := ledger.ModelCall{Key: "a1/1/0", Seq: 1, Model: "small", Request: json.RawMessage(`{"question": "?"}`), StartedAt: now}
	err = l.Append(ctx, ledger.Batch{Agent: "a1", Create: &agent, Events: event("Started"), ModelCalls: []ledger.ModelCall{call}})
	if err != nil {
		return err
	}
	open, err := l.OpenCalls(ctx, "a1")
	if err != nil {
		return err
	}
	fmt.Println("after a crash here:", len(open.Models), "model call without a result")

	// Result before progress.
	result := ledger.ModelResult{Key: call.Key, Status: ledger.StatusSuccess, Response: json.RawMessage(`{"answer": 42}`), FinishedAt: now}
	next := ledger.Batch{Agent: "a1", After: 1, Events: event("ModelReplied"), ModelResults: []ledger.ModelResult{result}}
	if err := l.Append(ctx, next); err != nil {
		return err
	}
	done, err := l.ModelCall(ctx, call.Key)
	if err != nil {
		return err
	}
	fmt.Printf("%s: %s\n", done.Result.Status, done.Result.Response)

	var conflict *ledger.ConflictError
	if errors.As(l.Append(ctx, next), &conflict) {
		fmt.Printf("a second operator: conflict at event %d, the newest is %d\n", conflict.Seq, conflict.LastSeq)
	}
	return nil
}
