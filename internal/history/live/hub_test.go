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
	hub.Listen("a", "m1", text("He"))
	reader := hub.Follow("a") // a late reader gets the beginning too
	if len(reader.Woken()) == 0 {
		t.Error("a reader that joins in the middle is not woken for what came before")
	}
	for _, piece := range []model.Delta{
		text("llo"), {Reasoning: "hm"}, {Reasoning: "m"}, call(0, "read", `{"pa`), call(0, "", `th":1}`), call(1, "ls", "{}"), text("."),
		{Text: "x", Reasoning: "y"}, {Text: "x", Reasoning: "y"},
	} {
		hub.Listen("a", "m1", piece)
	}
	hub.Listen("b", "m1", text("of another agent"))
	<-reader.Woken()
	want := News{Call: "m1", Pieces: []model.Delta{
		text("Hello"), {Reasoning: "hmm"}, call(0, "read", `{"path":1}`), call(1, "ls", "{}"), text("."), {Text: "xx", Reasoning: "yy"},
	}}
	if diff := cmp.Diff(want, reader.News()); diff != "" {
		t.Errorf("news (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(News{Call: "m1"}, reader.News()); diff != "" {
		t.Errorf("nothing has come since (-want +got):\n%s", diff)
	}
}

func TestNewCallResetsTheDeltas(t *testing.T) {
	var hub Hub
	reader := hub.Follow("a")
	hub.Listen("a", "m1", text("old"))
	hub.Changed(ledger.Agent{UID: "a"})
	hub.Listen("a", "m2", text("new"))
	if diff := cmp.Diff(News{Changed: true, Call: "m2", Pieces: []model.Delta{text("new")}}, reader.News()); diff != "" {
		t.Errorf("news (-want +got):\n%s", diff)
	}
	hub.Listen("a", "m3", text("without a change in between"))
	if news := reader.News(); news.Call != "m3" || len(news.Pieces) != 1 {
		t.Errorf("news of the third call: %+v", news)
	}
}

// TestNobodyBlocksTheEngine uses a reader that never reads and a reply that never ends.
func TestNobodyBlocksTheEngine(t *testing.T) {
	var hub Hub
	reader := hub.Follow("a")
	for range maxPieces + 10 {
		hub.Listen("a", "m1", text("x"))
	}
	news := reader.News()
	if !news.Lost || len(news.Pieces) != 1 || news.Pieces[0].Text != strings.Repeat("x", maxPieces) {
		t.Errorf("lost %v, %d pieces: want one merged delta, and Lost", news.Lost, len(news.Pieces))
	}
}

func TestUnreadFeedsAreDropped(t *testing.T) {
	var hub Hub
	reader := hub.Follow("read")
	for i := range 3 * maxReplies {
		hub.Listen(fmt.Sprint("agent-", i), "m1", text("x"))
	}
	if len(hub.feeds) > maxReplies {
		t.Errorf("%d replies are kept, want at most %d", len(hub.feeds), maxReplies)
	}
	hub.Listen("read", "m1", text("x"))
	if news := reader.News(); len(news.Pieces) != 1 {
		t.Errorf("a feed that is read was dropped: %+v", news)
	}
	reader.Close()
	hub.Changed(ledger.Agent{UID: "read"})
	if _, ok := hub.feeds["read"]; ok {
		t.Error("a feed without readers and pieces is kept")
	}
	hub.Changed(ledger.Agent{UID: "unknown"})
}
