// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package tool_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nestor-dev/nestor/internal/tool"
)

// The time limit of a call stands still while a person is asked, and counts again after the answer.
func TestAskingDoesNotCount(t *testing.T) {
	for after, want := range map[time.Duration]tool.Failure{time.Second: tool.NoFailure, 10 * time.Second: tool.TimedOut} {
		synctest.Test(t, func(t *testing.T) {
			asks, err := tool.New(tool.Spec{Name: "asks", Timeout: 5 * time.Second}, func(ctx context.Context, call tool.Invocation) (tool.Output, error) {
				answer, err := call.Ask(ctx, "Who?")
				if err != nil {
					return tool.Output{}, err
				}
				select {
				case <-time.After(after):
					return tool.Output{Text: answer}, nil
				case <-ctx.Done():
					return tool.Output{}, ctx.Err()
				}
			})
			if err != nil {
				t.Fatal(err)
			}
			set, err := tool.NewSet(asks)
			if err != nil {
				t.Fatal(err)
			}
			call := tool.Invocation{ID: "c", Name: "asks", Ask: func(ctx context.Context, _ string) (string, error) {
				select {
				case <-time.After(time.Hour):
					return "me", nil
				case <-ctx.Done():
					return "", ctx.Err()
				}
			}}
			if got := (tool.Executor{}).Execute(t.Context(), set, call).Failure; got != want {
				t.Errorf("a call that runs for %s after the answer ended with %q, want %q", after, got, want)
			}
		})
	}
}

// A call that ends with a question succeeds, and the question is what the ledger has as its output.
func TestQuestionIsTheOutput(t *testing.T) {
	asks, err := tool.New(tool.Spec{Name: "asks"}, func(context.Context, tool.Invocation) (tool.Output, error) {
		return tool.Output{Input: &tool.InputRequest{Question: "Who\x00?"}}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	set, err := tool.NewSet(asks)
	if err != nil {
		t.Fatal(err)
	}
	got := tool.Executor{}.Execute(t.Context(), set, tool.Invocation{ID: "c", Name: "asks"})
	if got.Failure != tool.NoFailure || got.Output.Input == nil || got.Output.Text != "Who\uFFFD?" || got.Output.Input.Question != got.Output.Text {
		t.Errorf("the result is %+v", got)
	}
}
