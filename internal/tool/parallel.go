// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package tool

import (
	"context"
	"sync"
)

// ExecuteAll runs the calls of one turn and returns their results in the calls'
// order. Calls that are independent run in parallel, see [Batches].
func (e Executor) ExecuteAll(ctx context.Context, set Set, calls []Call) []Result {
	results := make([]Result, 0, len(calls))
	for _, batch := range Batches(set, calls) {
		results = append(results, e.executeBatch(ctx, set, batch)...)
	}
	return results
}

func (e Executor) executeBatch(ctx context.Context, set Set, batch []Call) []Result {
	results := make([]Result, len(batch))
	slots := make(chan struct{}, positive(e.Parallel, DefaultParallel))
	var wg sync.WaitGroup
	for i, call := range batch {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			results[i] = e.Execute(ctx, set, call)
		})
	}
	wg.Wait()
	return results
}

// Batches splits the calls of one turn into groups to run one after another. The
// calls of a group are independent: they only read. A call that may change
// something is a group of its own, at its place in the model's order, because a
// model that writes a file and then runs the tests in one turn means it so.
func Batches(set Set, calls []Call) [][]Call {
	var batches [][]Call
	open := false // the last batch takes more reading calls
	for _, call := range calls {
		reads := onlyReads(set, call)
		if reads && open {
			last := len(batches) - 1
			batches[last] = append(batches[last], call)
			continue
		}
		batches = append(batches, []Call{call})
		open = reads
	}
	return batches
}

// onlyReads holds for a call that runs no tool, too.
func onlyReads(set Set, call Call) bool {
	t, ok := set.Lookup(call.Name)
	return !ok || t.spec.ReadOnly
}
