// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"testing"

	"github.com/nestor-dev/nestor/internal/tool"
)

// The progress of a tool is visible while it runs, is not recorded, and is gone when the call ends.
func TestProgressOfATool(t *testing.T) {
	w := newWorld(t, writerScript)
	reported, finish := make(chan struct{}), make(chan struct{})
	w.tools.output = func(_ context.Context, call tool.Invocation) (tool.Output, error) {
		for n := range 1000 { // a tool that reports too often
			call.Progress(tool.Progress{Done: float64(n + 1), Total: 1000, Message: "writing"})
		}
		close(reported)
		<-finish
		return tool.Output{Text: "done"}, nil
	}
	w.task("task", nil)
	<-reported
	events := recorded(t, w)
	progress := w.current().Progress("uid-task")
	if len(progress) != 1 {
		t.Errorf("the progress is %v, want that of one call", progress)
	}
	for _, text := range progress {
		if text != "1000/1000 writing" {
			t.Errorf("the progress is %q", text)
		}
	}
	if n := recorded(t, w); n != events {
		t.Errorf("%d events were recorded for progress", n-events)
	}
	close(finish)
	w.untilEnded("task")
	if progress := w.current().Progress("uid-task"); len(progress) > 0 {
		t.Errorf("the progress after the end is %v", progress)
	}
}

// recorded returns the number of events of the task.
func recorded(t *testing.T, w *world) int {
	t.Helper()
	events, err := w.ledger.Events(t.Context(), "uid-task", 0, 100)
	if err != nil {
		t.Fatal(err)
	}
	return len(events)
}
