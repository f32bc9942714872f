// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package ledgertest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nestor-dev/nestor/internal/ledger"
)

// forkOf returns the batch that starts a fork of an agent after an event, with n events of its own.
func forkOf(origin, uid string, seq int64, n int) ledger.Batch {
	agent := Agent(uid)
	agent.Chat, agent.Origin, agent.OriginSeq = "", origin, seq
	return ledger.Batch{Agent: uid, Create: &agent, After: seq, Events: Events(uid, n)}
}

func testForkBeginsWithTheEventsOfItsOrigin(t *testing.T, db Database) {
	l := db.Open(t)
	Append(t, l, First(Agent("a"), 8), forkOf("a", "b", 5, 3), forkOf("b", "c", 7, 2), forkOf("b", "d", 3, 1), forkOf("a", "e", 0, 2))
	Append(t, l, ledger.Batch{Agent: "a", After: 8, Events: Events("later", 2)}, ledger.Batch{Agent: "b", After: 8, Events: Events("later", 1)})
	own := func(uid string, n int) []ledger.Event { return Events(uid, n) }
	for uid, want := range map[string][]ledger.Event{
		"a": slices.Concat(own("a", 8), own("later", 2)),
		"b": slices.Concat(own("a", 8)[:5], own("b", 3), own("later", 1)),
		"c": slices.Concat(own("a", 8)[:5], own("b", 3)[:2], own("c", 2)),
		"d": slices.Concat(own("a", 8)[:3], own("d", 1)),
		"e": own("e", 2),
	} {
		want = numbered(0, want)
		history := must(l.Load(t.Context(), uid))(t)
		if diff := cmp.Diff(want, history.Events); diff != "" {
			t.Errorf("the events of %s (-want +got):\n%s", uid, diff)
		}
		if history.Agent.LastSeq != int64(len(want)) {
			t.Errorf("the newest event of %s is %d, want %d", uid, history.Agent.LastSeq, len(want))
		}
		var paged []ledger.Event
		for after := int64(0); ; after = paged[len(paged)-1].Seq {
			page := must(l.Events(t.Context(), uid, after, 2))(t)
			if paged = append(paged, page...); len(page) == 0 {
				break
			}
		}
		if diff := cmp.Diff(want, paged); diff != "" {
			t.Errorf("the pages of %s (-want +got):\n%s", uid, diff)
		}
	}
	if record := must(l.Agent(t.Context(), "c"))(t); record.Origin != "b" || record.OriginSeq != 7 {
		t.Errorf("the fork is read as %+v", record)
	}
	if got := db.rows(t, "event_rows"); got != 10+4+2+1+2 {
		t.Errorf("the ledger has %d events: shared ones are stored more than once", got)
	}
}

func testForkStartsOnce(t *testing.T, db Database) {
	l := db.Open(t)
	Append(t, l, First(Agent("a"), 4))
	foreign := forkOf("a", "foreign", 2, 1)
	foreign.Create.NamespaceUID = "another"
	gap := forkOf("a", "gap", 2, 1)
	gap.After = 1
	for name, batch := range map[string]ledger.Batch{
		"an event that does not exist": forkOf("a", "b", 5, 1), "an unknown origin": forkOf("x", "b", 1, 1), "another namespace": foreign,
		"a gap": gap, "itself": forkOf("b", "b", 1, 1), "no origin": forkOf("", "b", 1, 1),
	} {
		if err := l.Append(t.Context(), batch); !errors.Is(err, ledger.ErrInvalid) {
			t.Errorf("a fork of %s: %v, want ErrInvalid", name, err)
		}
	}
	Append(t, l, forkOf("a", "b", 2, 2))
	var conflict *ledger.ConflictError
	if err := l.Append(t.Context(), forkOf("a", "b", 2, 2)); !errors.As(err, &conflict) || conflict.LastSeq != 4 {
		t.Errorf("a fork that is started twice: %v, want a conflict with the event 4", err)
	}
	if got := db.rows(t, "agents"); got != 2 {
		t.Errorf("%d agents, want 2", got)
	}
}

func testOriginLivesAsLongAsItsForks(t *testing.T, db Database) {
	l := db.Open(t)
	origin := aged("a", 5, at(10))
	middle := forkOf("a", "b", 3, 1)
	middle.Finish = &ledger.Finish{Status: ledger.StatusSuccess, At: at(20)}
	last := forkOf("b", "c", 4, 1)
	last.Finish = &ledger.Finish{Status: ledger.StatusSuccess, At: at(1000)}
	Append(t, l, origin, middle, last)
	must(ledger.Retain(t.Context(), l, at(500)))(t)
	for _, uid := range []string{"a", "b"} {
		if _, err := l.Agent(t.Context(), uid); !errors.Is(err, ledger.ErrNotFound) {
			t.Errorf("the expired agent %s: %v, want ErrNotFound", uid, err)
		}
	}
	want := numbered(0, slices.Concat(Events("a", 5)[:3], Events("b", 1), Events("c", 1)))
	if history := must(l.Load(t.Context(), "c"))(t); !cmp.Equal(want, history.Events) {
		t.Errorf("the fork of expired agents has the events %v", history.Events)
	}
	if err := l.Append(t.Context(), forkOf("a", "d", 2, 1)); !errors.Is(err, ledger.ErrInvalid) {
		t.Errorf("a fork of an expired agent: %v, want ErrInvalid", err)
	}
	must(ledger.Retain(t.Context(), l, at(2000)))(t)
	if got, want := db.allRows(t), "agents 0, events 0, snapshots 0, model_calls 0, tool_calls 0"; got != want {
		t.Errorf("after the last fork remain %s, want %s", got, want)
	}
}

func testForkReadsOutputsOfItsOrigin(t *testing.T, db Database) {
	l := db.Open(t)
	withOutput := func(batch ledger.Batch, call string, seq int64, image string) ledger.Batch {
		key := batch.Agent + "/tool/m1/" + call
		used := toolCall(key, call, int(seq))
		used.Seq = seq
		batch.ToolCalls = append(batch.ToolCalls, used)
		batch.ToolResults = append(batch.ToolResults, ledger.ToolResult{Key: key, Status: ledger.StatusSuccess, Output: []byte(key), FinishedAt: at(int(seq) + 1)})
		if image != "" {
			batch.Images = append(batch.Images, ledger.Image{Digest: image, MediaType: "image/png", Data: []byte(image)})
		}
		return batch
	}
	origin := withOutput(withOutput(First(Agent("a"), 6), "early", 2, "sha256:a"), "late", 5, "")
	below := Agent("below")
	below.Root, below.Parent = "a", "a"
	fork := withOutput(forkOf("a", "b", 3, 2), "own", 4, "")
	child := Agent("child")
	child.Root, child.Parent = "b", "b"
	Append(t, l, origin, withOutput(First(below, 1), "child", 1, ""), fork, First(child, 1), First(Agent("stranger"), 1))
	for _, test := range []struct{ agent, call, want string }{
		{"b", "early", "a/tool/m1/early"}, {"b", "a-name/early", "a/tool/m1/early"}, {"b", "own", "b/tool/m1/own"},
		{"b", "below-name/child", "below/tool/m1/child"}, {"child", "early", "a/tool/m1/early"},
		{"b", "late", ""}, {"a", "own", ""}, {"stranger", "early", ""},
	} {
		part, err := l.ToolOutput(t.Context(), test.agent, test.call, 0, 100)
		if test.want == "" && !errors.Is(err, ledger.ErrNotFound) || test.want != "" && string(part.Data) != test.want {
			t.Errorf("%s reads %s: %q (%v), want %q", test.agent, test.call, part.Data, err, test.want)
		}
	}
	if image := must(l.ImageOf(t.Context(), "b", "sha256:a"))(t); string(image.Data) != "sha256:a" {
		t.Errorf("the image of the origin is read as %q", image.Data)
	}
	if _, err := l.ImageOf(t.Context(), "stranger", "sha256:a"); !errors.Is(err, ledger.ErrNotFound) {
		t.Errorf("a stranger reads the image: %v", err)
	}
}

// testForkIsSmall forks a long conversation. The first request of the fork is an edit of that of the origin, and its snapshot refers to the
// texts of the origin.
func testForkIsSmall(t *testing.T, db Database) {
	const turns, most = 1000, 5000
	l := db.Open(t)
	messages, last := []string{"system"}, json.RawMessage(nil)
	request := func(key string) json.RawMessage { return encoded(map[string]any{"messages": messages, "z": key}) }
	for i := range turns {
		text := fmt.Sprintf("This is the message number %d of a long conversation.", i)
		messages = append(messages, text)
		key := fmt.Sprintf("a/model/m%d/1", i)
		whole := request(key)
		call := modelCall(key, i)
		call.Seq, call.Chain, call.Place, call.Request = int64(i+1), 1, i, whole
		if i > 0 {
			edit, ok := Compare(last, whole)
			if !ok {
				t.Fatal("a continued conversation is no edit")
			}
			call.Request = edit.Encode()
		}
		batch := ledger.Batch{Agent: "a", After: int64(i), Events: []ledger.Event{textEvent(text, i)}, ModelCalls: []ledger.ModelCall{call},
			ModelResults: []ledger.ModelResult{modelDone(key, ledger.StatusSuccess, i)}}
		if i == 0 {
			record := Agent("a")
			batch.Create = &record
		}
		Append(t, l, batch)
		last = whole
	}
	before := db.bodies(t)
	messages = append(messages, "And now differently.")
	key := "b/model/m1000/1"
	whole := request(key)
	edit, _ := Compare(last, whole)
	call := modelCall(key, turns)
	call.Seq, call.Chain, call.Place, call.Request = turns+1, 1, turns, edit.Encode()
	fork := forkOf("a", "b", turns, 0)
	fork.Events, fork.ModelCalls = []ledger.Event{textEvent("And now differently.", turns)}, []ledger.ModelCall{call}
	Append(t, l, fork)
	if added := db.bodies(t) - before; added > most {
		t.Errorf("the fork adds %d bytes, want at most %d", added, most)
	}
	snapshot := encoded(map[string]any{"messages": messages})
	Append(t, db.Open(t), ledger.Batch{Agent: "b", After: turns + 1, Events: Events("b", 1), Snapshot: snapshot})
	must(ledger.RetainCalls(t.Context(), l, at(10*turns)))(t)
	must(l.PruneCalls(t.Context(), time.Now(), 0))(t)
	for _, reader := range []ledger.Ledger{l, db.Open(t)} {
		if got := must(reader.ModelCall(t.Context(), key))(t); !bytes.Equal(got.Request, whole) {
			t.Errorf("the request of the fork is read with %d bytes, want %d", len(got.Request), len(whole))
		}
		if history := must(reader.Load(t.Context(), "b"))(t); !bytes.Equal(history.Snapshot.Data, snapshot) {
			t.Errorf("the snapshot of the fork is read with %d bytes, want %d", len(history.Snapshot.Data), len(snapshot))
		}
	}
}
