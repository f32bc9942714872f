// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package tool_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nestor-dev/nestor/internal/tool"
)

// waitForContext waits for its context; ignoreContext does not.
func waitForContext(ctx context.Context, _ tool.Invocation) (tool.Output, error) {
	<-ctx.Done()
	return tool.Output{}, ctx.Err()
}

func ignoreContext(context.Context, tool.Invocation) (tool.Output, error) {
	<-time.After(time.Hour)
	return tool.Output{Text: "too late"}, nil
}

func TestRemovedToolReturnsAMessage(t *testing.T) {
	for name, set := range map[string]tool.Set{"no tools": {}, "other tools": namedTools(t, "read")} {
		result := execute(t, set, "lab__look", "{}")
		if result.Failure != tool.UnknownTool || !strings.Contains(result.Text, `There is no tool called "lab__look" any more`) {
			t.Errorf("%s: %s %q", name, result.Failure, result.Text)
		}
	}
}

func TestFailuresAreTextForModel(t *testing.T) {
	cases := []struct {
		name    string
		spec    tool.Spec
		run     tool.Func
		failure tool.Failure
		unknown bool
		says    []string
	}{
		{
			name: "error", run: func(context.Context, tool.Invocation) (tool.Output, error) {
				return tool.Output{}, errors.New("no such file: a.txt")
			},
			failure: tool.Failed, says: []string{"t failed: no such file: a.txt."},
		},
		{
			name: "reported by the tool", run: func(context.Context, tool.Invocation) (tool.Output, error) {
				return tool.Output{Text: "exit status 2", IsError: true}, nil
			},
			failure: tool.Failed, says: []string{"exit status 2"},
		},
		{
			name: "panic", spec: tool.Spec{ReadOnly: true}, run: func(context.Context, tool.Invocation) (tool.Output, error) {
				panic("index out of range")
			},
			failure: tool.Failed, says: []string{"a defect in the tool", "Continue without it."},
		},
		{
			name: "panic of a tool that writes", run: func(context.Context, tool.Invocation) (tool.Output, error) {
				panic("index out of range")
			},
			failure: tool.Failed, unknown: true, says: []string{"a defect in the tool", "may have taken effect"},
		},
		{
			name: "connection lost", run: func(context.Context, tool.Invocation) (tool.Output, error) {
				return tool.Output{}, fmt.Errorf("connection lost: %w", tool.ErrOutcomeUnknown)
			},
			failure: tool.Failed, unknown: true, says: []string{"connection lost", "check before you call it again"},
		},
		{
			name: "connection lost while reading", spec: tool.Spec{ReadOnly: true}, run: func(context.Context, tool.Invocation) (tool.Output, error) {
				return tool.Output{}, fmt.Errorf("connection lost: %w", tool.ErrOutcomeUnknown)
			},
			failure: tool.Failed, says: []string{"connection lost"},
		},
		{
			name: "own timeout", spec: tool.Spec{Timeout: time.Second}, run: waitForContext,
			failure: tool.TimedOut, unknown: true, says: []string{"within 1s", "check before you call it again"},
		},
		{
			name: "default timeout", spec: tool.Spec{Idempotent: true}, run: waitForContext,
			failure: tool.TimedOut, says: []string{"within 1m0s", "Ask for less"},
		},
		{
			name: "ignores its timeout", spec: tool.Spec{ReadOnly: true}, run: ignoreContext,
			failure: tool.TimedOut, says: []string{"within 1m0s"},
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c.spec.Name = "t"
				result := execute(t, makeSet(t, makeTool(t, c.spec, c.run)), "t", "{}")
				if result.Failure != c.failure || result.OutcomeUnknown != c.unknown || !result.Output.IsError {
					t.Errorf("failure %q, unknown %v, want %q, %v", result.Failure, result.OutcomeUnknown, c.failure, c.unknown)
				}
				for _, want := range c.says {
					if !strings.Contains(result.Text, want) {
						t.Errorf("the text lacks %q:\n%s", want, result.Text)
					}
				}
				if strings.Contains(result.Text, "goroutine") {
					t.Errorf("the text contains a stack:\n%s", result.Text)
				}
				<-time.After(2 * time.Hour) // fake time: lets ignoreContext return
			})
		})
	}
}

func TestPanicKeepsStack(t *testing.T) {
	set := makeSet(t, makeTool(t, tool.Spec{Name: "t"}, func(context.Context, tool.Invocation) (tool.Output, error) { panic("boom") }))
	result := execute(t, set, "t", "")
	if result.Err == nil || !strings.Contains(result.Err.Error(), "boom") || !strings.Contains(result.Err.Error(), "failure_test.go") {
		t.Errorf("no stack in %v", result.Err)
	}
}

func TestCancelEndsACall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		set := makeSet(t, makeTool(t, tool.Spec{Name: "t"}, waitForContext))
		result := tool.Executor{}.Execute(ctx, set, tool.Invocation{Name: "t"})
		if result.Failure != tool.Cancelled || !result.OutcomeUnknown {
			t.Errorf("failure %q, unknown %v", result.Failure, result.OutcomeUnknown)
		}
	})
}

func TestCancelledCallDoesNotStart(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var r recorder
	set := makeSet(t, makeTool(t, tool.Spec{Name: "t"}, r.run))
	result := tool.Executor{}.Execute(ctx, set, tool.Invocation{Name: "t"})
	if result.Failure != tool.Cancelled || result.OutcomeUnknown || len(r.received()) > 0 {
		t.Errorf("%d runs, failure %q, unknown %v", len(r.received()), result.Failure, result.OutcomeUnknown)
	}
}

func TestOutputsOfAllShapes(t *testing.T) {
	shown := []tool.Image{{MIMEType: "image/png", Data: picture(t, 1)}}
	for name, c := range map[string]struct {
		output tool.Output
		text   string
	}{
		"text":            {tool.Output{Text: "hello"}, "hello"},
		"structured only": {tool.Output{Structured: []byte(`{"a":1}`)}, `{"a":1}`},
		"both":            {tool.Output{Text: "one", Structured: []byte(`{"a":1}`)}, "one"},
		"image only":      {tool.Output{Images: shown}, ""},
		"nothing":         {tool.Output{}, "(no output)"},
	} {
		set := makeSet(t, makeTool(t, tool.Spec{Name: "t"}, func(context.Context, tool.Invocation) (tool.Output, error) { return c.output, nil }))
		if result := execute(t, set, "t", ""); result.Text != c.text || result.Failure != tool.NoFailure {
			t.Errorf("%s: got %q (%s), want %q", name, result.Text, result.Failure, c.text)
		}
	}
}
