// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package ledgertest

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/ledger/sqlstore"
)

// Benchmark measures durable appends of two events each by 1, 50 and 500 concurrent agents, with and without the group commit.
func Benchmark(b *testing.B, create func(testing.TB) Database) {
	for _, agents := range []int{1, 50, 500} {
		b.Run(fmt.Sprintf("agents=%d/grouped", agents), func(b *testing.B) { benchmark(b, create(b).Open(b), agents) })
		b.Run(fmt.Sprintf("agents=%d/alone", agents), func(b *testing.B) {
			benchmark(b, create(b).Open(b, sqlstore.GroupLimit(1)), agents)
		})
	}
}

func benchmark(b *testing.B, l ledger.Ledger, agents int) {
	uids := make([]string, agents)
	for i := range uids {
		uids[i] = fmt.Sprintf("agent-%d", i)
		Append(b, l, First(Agent(uids[i]), 1))
	}
	before := l.Stats()
	var left atomic.Int64
	left.Store(int64(b.N))
	var group sync.WaitGroup
	b.ResetTimer()
	for _, uid := range uids {
		group.Go(func() {
			for after := int64(1); left.Add(-1) >= 0; after += 2 {
				batch := ledger.Batch{Agent: uid, After: after, Events: Events(uid, 2)}
				if err := l.Append(b.Context(), batch); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	group.Wait()
	b.StopTimer()
	after := l.Stats()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "appends/s")
	b.ReportMetric(float64(after.Batches-before.Batches)/float64(after.Transactions-before.Transactions), "appends/commit")
}
