// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package transcript_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	api "github.com/nestor-dev/nestor/api/history/v1beta1"
	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/history/historytest"
	"github.com/nestor-dev/nestor/internal/history/transcript"
	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/ledger/ledgertest"
)

type countingEvents struct {
	ledger       transcript.Events
	events, most int
}

func (c *countingEvents) Events(ctx context.Context, uid string, after int64, limit int) ([]ledger.Event, error) {
	events, err := c.ledger.Events(ctx, uid, after, limit)
	c.events += len(events)
	c.most = max(c.most, len(events))
	return events, err
}

// longChat writes a chat of n messages, half of them replies. Every other event is a delivery, which has no entry.
func longChat(t testing.TB, l ledger.Ledger, n int) string {
	t.Helper()
	pen := historytest.Chat("team-a", "long", "long")
	if err := pen.Write(t.Context(), l, pen.Orchestrator()); err != nil {
		t.Fatal(err)
	}
	var facts []agent.Fact
	for i := range n / 2 {
		message := fmt.Sprintf("msg-%d", i)
		facts = append(facts, agent.MessageArrived{Message: message, Text: "question"}, agent.ItemSent{ID: "handled/" + message},
			agent.ModelReplied{Call: fmt.Sprintf("m%d", i+1), Text: strings.Repeat("answer ", 20)}, agent.ItemSent{ID: fmt.Sprintf("post/%d", i+1)})
		if len(facts) >= 200 || i == n/2-1 {
			if err := pen.Write(t.Context(), l, facts...); err != nil {
				t.Fatal(err)
			}
			facts = nil
		}
	}
	return pen.Record.UID
}

func TestLongTranscriptIsPaged(t *testing.T) {
	const messages, page = 10_000, 250
	l := ledgertest.OpenSQLite(t)
	uid := longChat(t, l, messages)
	counter := &countingEvents{ledger: l}
	reader := transcript.NewReader(counter)

	first, err := reader.Open(t.Context(), uid, 0)
	if err != nil {
		t.Fatal(err)
	}
	if entries, more, err := first.Read(t.Context(), page); err != nil || !more || len(entries) != page {
		t.Fatalf("the first page: %d entries, more %v, %v", len(entries), more, err)
	}
	if counter.events > 4*page {
		t.Errorf("the first page of %d entries read %d events", page, counter.events)
	}

	// Every page is a separate request, like that of a client that continues after its last seq.
	counter.events = 0
	seen, since := 0, int64(0)
	for more := true; more; {
		cursor, err := reader.Open(t.Context(), uid, since)
		if err != nil {
			t.Fatal(err)
		}
		entries, further, err := cursor.Read(t.Context(), page)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if e.Seq <= since {
				t.Fatalf("entry %d comes after %d", e.Seq, since)
			}
			since = e.Seq
		}
		seen, more = seen+len(entries), further
	}
	if seen != messages+1 {
		t.Errorf("%d entries, want %d and the start", seen, messages)
	}
	// A page reads one entry ahead, to report whether there are more.
	if all := 2*messages + 1; counter.events > all+all/page*8 {
		t.Errorf("reading %d events in pages read %d: a page does not continue where the previous one stopped", all, counter.events)
	}
	if counter.most > 1000 {
		t.Errorf("%d events were held at once", counter.most)
	}
}

func TestReaderCanStartAnywhere(t *testing.T) {
	l := ledgertest.OpenSQLite(t)
	uid := longChat(t, l, 3000)
	reader := transcript.NewReader(l)
	whole, err := reader.Open(t.Context(), uid, 0)
	if err != nil {
		t.Fatal(err)
	}
	all, _, err := whole.Read(t.Context(), 4000)
	if err != nil {
		t.Fatal(err)
	}
	for _, since := range []int{0, 1, 1499, 2999, 3000, 3001} {
		cursor, err := transcript.NewReader(l).Open(t.Context(), uid, all[max(since-1, 0)].Seq)
		if err != nil {
			t.Fatal(err)
		}
		entries, more, err := cursor.Read(t.Context(), 2)
		if err != nil || more != (max(since, 1)+2 < len(all)) {
			t.Fatalf("since %d: more %v, %v", since, more, err)
		}
		for i, e := range entries {
			if want := all[max(since, 1)+i]; formatEntry(e) != formatEntry(want) {
				t.Errorf("since %d: %s, want %s", since, formatEntry(e), formatEntry(want))
			}
		}
	}
	record, err := l.Agent(t.Context(), uid)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{1, 10, 2000, 5000} {
		cursor, err := transcript.NewReader(l).Tail(t.Context(), uid, record.LastSeq, n)
		if err != nil {
			t.Fatal(err)
		}
		entries, more, err := cursor.Read(t.Context(), 6000)
		if err != nil || more || len(entries) != min(n, len(all)) {
			t.Errorf("tail %d: %d entries, more %v, %v", n, len(entries), more, err)
		}
		if last := all[len(all)-1]; entries[len(entries)-1].Seq != last.Seq {
			t.Errorf("tail %d ends with %d, want %d", n, entries[len(entries)-1].Seq, last.Seq)
		}
	}
	beyond, err := reader.Open(t.Context(), uid, 1_000_000)
	if err != nil {
		t.Fatal(err)
	}
	if entries, more, err := beyond.Read(t.Context(), 10); err != nil || more || len(entries) != 0 {
		t.Errorf("beyond the end: %d entries, more %v, %v", len(entries), more, err)
	}
}

func TestUnreadableEventIsNamed(t *testing.T) {
	l := ledgertest.OpenSQLite(t)
	pen := historytest.Chat("team-a", "release", "uid")
	if err := pen.Write(t.Context(), l, pen.Orchestrator()); err != nil {
		t.Fatal(err)
	}
	quarantined, err := json.Marshal(agent.Event{At: 2, Fact: agent.Quarantined{Kind: agent.Orchestrator, Name: "release", Event: 2, Type: "Dreamt", Reason: "it is of a later release"}})
	if err != nil {
		t.Fatal(err)
	}
	err = l.Append(t.Context(), ledger.Batch{Agent: "uid", After: 1, Events: []ledger.Event{
		{Type: "Dreamt", At: historytest.Start, Data: []byte(`{"v":99,"type":"Dreamt","at":1}`)},
		{Type: "Quarantined", At: historytest.Start, Data: quarantined},
	}})
	if err != nil {
		t.Fatal(err)
	}
	cursor, err := transcript.NewReader(l).Open(t.Context(), "uid", 0)
	if err != nil {
		t.Fatal(err)
	}
	entries, _, err := cursor.Read(t.Context(), 10)
	if err != nil || len(entries) != 3 {
		t.Fatalf("%v (%v)", entries, err)
	}
	for i, want := range []string{"Event 2 (Dreamt) cannot be read: event has version 99", "has lost its history"} {
		if e := entries[i+1]; e.Kind != api.EntryError || e.Error != "HistoryLost" || !strings.Contains(e.Content, want) {
			t.Errorf("%+v", e)
		}
	}
}

// BenchmarkColdSeek seeks to the end of 2,000 messages with an empty cache; BenchmarkNextPage reads on from a cached
// position.
func BenchmarkColdSeek(b *testing.B) {
	l, uid := benchmarkChat(b)
	for b.Loop() {
		if _, err := transcript.NewReader(l).Open(b.Context(), uid, 4000); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/4000, "µs/event")
}

func BenchmarkNextPage(b *testing.B) {
	l, uid := benchmarkChat(b)
	reader := transcript.NewReader(l)
	for b.Loop() {
		cursor, err := reader.Open(b.Context(), uid, 3800)
		if err != nil {
			b.Fatal(err)
		}
		if _, _, err := cursor.Read(b.Context(), 100); err != nil {
			b.Fatal(err)
		}
	}
}

func benchmarkChat(b *testing.B) (ledger.Ledger, string) {
	b.Helper()
	l := ledgertest.OpenSQLite(b)
	return l, longChat(b, l, 2000)
}
