// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package ledgertest

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/nestor-dev/nestor/internal/ledger"
)

// testLedgerBehavesLikeItsModel appends random batches, some of them stale, and compares the ledger with a slice.
func testLedgerBehavesLikeItsModel(t *testing.T, db Database) {
	l := db.Open(t)
	run := 0
	rapid.Check(t, func(r *rapid.T) {
		run++
		uid := fmt.Sprintf("agent-%d", run)
		var events []ledger.Event
		var snapshot *ledger.Snapshot
		created := false
		for range rapid.IntRange(1, 4).Draw(r, "batches") {
			batch := ledger.Batch{
				Agent:  uid,
				After:  max(0, int64(len(events))-int64(rapid.SampledFrom([]int{0, 0, 0, 1, -1}).Draw(r, "stale by"))),
				Events: Events(rapid.StringN(0, 20, -1).Draw(r, "from"), rapid.IntRange(0, 3).Draw(r, "events")),
			}
			if !created {
				batch.After, batch.Create = 0, ptr(Agent(uid))
				batch.Events = append(batch.Events, Events("first", 1)...)
			}
			if rapid.Bool().Draw(r, "snapshot") {
				batch.Snapshot = json.RawMessage(fmt.Sprintf(`{"events": %d}`, len(events)))
			}
			err := l.Append(t.Context(), batch)
			var conflict *ledger.ConflictError
			if batch.After != int64(len(events)) {
				if !errors.As(err, &conflict) {
					r.Fatalf("after %d of %d: %v, want a conflict", batch.After, len(events), err)
				}
				continue
			}
			if err != nil {
				r.Fatalf("append: %v", err)
			}
			created = true
			events = append(events, numbered(batch.After, batch.Events)...)
			if batch.Snapshot != nil {
				snapshot = &ledger.Snapshot{Seq: int64(len(events)), Data: batch.Snapshot}
			}
		}
		history, err := l.Load(t.Context(), uid)
		if err != nil {
			r.Fatal(err)
		}
		rest := events
		if snapshot != nil {
			rest = events[snapshot.Seq:]
		}
		if diff := cmp.Diff(snapshot, history.Snapshot); diff != "" {
			r.Errorf("snapshot (-want +got):\n%s", diff)
		}
		if len(rest)+len(history.Events) > 0 && !cmp.Equal(rest, history.Events) {
			r.Errorf("events (-want +got):\n%s", cmp.Diff(rest, history.Events))
		}
	})
}
