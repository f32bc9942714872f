// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package live

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/model"
)

func text(t string) model.Delta { return model.Delta{Text: t} }

func call(index int, name, arguments string) model.Delta {
	return model.Delta{ToolCall: &model.ToolCallDelta{Index: index, Name: name, Arguments: arguments}}
}

func TestSlowReaderGetsMergedDeltas(t *testing.T) {
	var hub Hub
	hub.OnDelta("a", "m1", text("He"))
	reader := hub.Follow("a") // a late reader gets the beginning too
	if len(reader.Updates()) == 0 {
		t.Error("a reader that joins in the middle is not woken for what came before")
	}
	for _, piece := range []model.Delta{
		text("llo"), {Reasoning: "hm"}, {Reasoning: "m"}, call(0, "read", `{"pa`), call(0, "", `th":1}`), call(1, "ls", "{}"), text("."),
		{Text: "x", Reasoning: "y"}, {Text: "x", Reasoning: "y"},
	} {
		hub.OnDelta("a", "m1", piece)
	}
	hub.OnDelta("b", "m1", text("of another agent"))
	<-reader.Updates()
	want := Update{Call: "m1", Deltas: []model.Delta{
		text("Hello"), {Reasoning: "hmm"}, call(0, "read", `{"path":1}`), call(1, "ls", "{}"), text("."), {Text: "xx", Reasoning: "yy"},
	}}
	if diff := cmp.Diff(want, reader.Read()); diff != "" {
		t.Errorf("news (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(Update{Call: "m1"}, reader.Read()); diff != "" {
		t.Errorf("nothing has come since (-want +got):\n%s", diff)
	}
}

func TestNewCallResetsTheDeltas(t *testing.T) {
	var hub Hub
	reader := hub.Follow("a")
	hub.OnDelta("a", "m1", text("old"))
	hub.Changed(ledger.Agent{UID: "a"})
	hub.OnDelta("a", "m2", text("new"))
	if diff := cmp.Diff(Update{Changed: true, Call: "m2", Deltas: []model.Delta{text("new")}}, reader.Read()); diff != "" {
		t.Errorf("news (-want +got):\n%s", diff)
	}
	hub.OnDelta("a", "m3", text("without a change in between"))
	if update := reader.Read(); update.Call != "m3" || len(update.Deltas) != 1 {
		t.Errorf("news of the third call: %+v", update)
	}
}

// TestSlowReaderDoesNotBlock uses a reader that never reads and a reply that never ends.
func TestSlowReaderDoesNotBlock(t *testing.T) {
	var hub Hub
	reader := hub.Follow("a")
	for range maxDeltas + 10 {
		hub.OnDelta("a", "m1", text("x"))
	}
	update := reader.Read()
	if !update.Truncated || len(update.Deltas) != 1 || update.Deltas[0].Text != strings.Repeat("x", maxDeltas) {
		t.Errorf("truncated %v, %d deltas: want one merged delta, and Truncated", update.Truncated, len(update.Deltas))
	}
}

func TestUnreadFeedsAreDropped(t *testing.T) {
	var hub Hub
	reader := hub.Follow("read")
	for i := range 3 * maxUnreadReplies {
		hub.OnDelta(fmt.Sprint("agent-", i), "m1", text("x"))
	}
	if len(hub.feeds) > maxUnreadReplies {
		t.Errorf("%d replies are kept, want at most %d", len(hub.feeds), maxUnreadReplies)
	}
	hub.OnDelta("read", "m1", text("x"))
	if update := reader.Read(); len(update.Deltas) != 1 {
		t.Errorf("a feed that is read was dropped: %+v", update)
	}
	reader.Close()
	hub.Changed(ledger.Agent{UID: "read"})
	if _, ok := hub.feeds["read"]; ok {
		t.Error("a feed without readers and deltas is kept")
	}
	hub.Changed(ledger.Agent{UID: "unknown"})
}
