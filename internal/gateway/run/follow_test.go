// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"strings"
	"testing"

	historyv1 "github.com/nestor-dev/nestor/api/history/v1beta1"
	"github.com/nestor-dev/nestor/internal/agent"
)

// TestStreamBehindTheRecord reads the record up to its end while the stream still has deltas of the reply.
func TestStreamBehindTheRecord(t *testing.T) {
	var texts []string
	s := &eventStream{live: &taskText{}, emit: func(e Event) error {
		switch e.Kind {
		case Text:
			texts = append(texts, e.Text)
		case Replace:
			texts = nil
		}
		return nil
	}}
	delta := func(arguments string) historyv1.Entry {
		piece := &historyv1.ToolCallDelta{Tool: agent.ToolSubmit, Arguments: arguments}
		return historyv1.Entry{Seq: 1, Kind: historyv1.EntryDelta, ModelCall: "2", Delta: &historyv1.Delta{ToolCall: piece}}
	}
	for _, e := range []historyv1.Entry{
		{Seq: 1, Kind: historyv1.EntryUser},
		delta(`{"result": "Rel`),
		{Seq: 2, Kind: historyv1.EntryAssistant, ModelCall: "2"},
		{Seq: 3, Outcome: &historyv1.Outcome{Result: "Released."}},
		delta(`eased."}`),
	} {
		if err := s.handle(e); err != nil {
			t.Fatal(err)
		}
	}
	if text := strings.Join(texts, "|"); text != "Released." {
		t.Errorf("the answer is %q", text)
	}
}
