// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package sqlstore

import (
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nestor-dev/nestor/internal/ledger"
)

// groupsOf submits batches of these sizes while the committer is busy, and returns the sizes of the groups.
func groupsOf(t *testing.T, limit, bytes int, sizes ...int) []int {
	t.Helper()
	var groups []int
	started, release := make(chan struct{}), make(chan struct{})
	q := newQueue(limit, bytes, func(group []*pendingBatch) {
		if len(groups) == 0 {
			close(started)
			<-release
		}
		groups = append(groups, len(group))
		for _, p := range group {
			p.done <- nil
		}
	})
	first := &pendingBatch{batch: &folded{}, done: make(chan error, 1)}
	q.add(first)
	<-started
	waiting := make([]*pendingBatch, len(sizes))
	for i, size := range sizes {
		waiting[i] = &pendingBatch{batch: &folded{size: size}, done: make(chan error, 1)}
		q.add(waiting[i])
	}
	close(release)
	<-first.done
	for _, p := range waiting {
		<-p.done
	}
	q.close()
	return groups[1:]
}

func TestGroupsRespectTheirLimits(t *testing.T) {
	for name, test := range map[string]struct {
		limit, bytes int
		sizes, want  []int
	}{
		"all at once":             {10, 100, []int{1, 1, 1}, []int{3}},
		"by number":               {2, 100, []int{1, 1, 1, 1, 1}, []int{2, 2, 1}},
		"by size":                 {10, 100, []int{60, 40, 1, 99}, []int{2, 2}},
		"too large goes alone":    {10, 100, []int{1, 500, 500, 1}, []int{1, 1, 1, 1}},
		"without group commit":    {1, 100, []int{1, 1, 1}, []int{1, 1, 1}},
		"nothing waits":           {10, 100, nil, nil},
		"large first, then small": {10, 100, []int{500, 1, 1}, []int{1, 2}},
	} {
		t.Run(name, func(t *testing.T) {
			got := groupsOf(t, test.limit, test.bytes, test.sizes...)
			if len(got) != len(test.want) {
				t.Fatalf("groups %v, want %v", got, test.want)
			}
			for i := range got {
				if got[i] != test.want[i] {
					t.Fatalf("groups %v, want %v", got, test.want)
				}
			}
		})
	}
}

func TestClosedQueueRefusesBatches(t *testing.T) {
	q := newQueue(1, 1, func([]*pendingBatch) { t.Error("committed after close") })
	if !q.close() || q.close() {
		t.Error("want exactly the first close to report true")
	}
	if err := q.submit(t.Context(), &folded{}); !errors.Is(err, ledger.ErrClosed) {
		t.Errorf("submit: %v, want ErrClosed", err)
	}
}

// Writers that return shortly after they were answered share the next commit, instead of getting one each.
func TestReturningWritersShareACommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const writers, appends, commit = 12, 10, 3 * time.Millisecond
		var groups []int
		q := newQueue(100, 1000, func(group []*pendingBatch) {
			groups = append(groups, len(group))
			time.Sleep(commit) //nolint:forbidigo // The clock of synctest does not wait.
			for _, p := range group {
				p.done <- nil
			}
		})
		var all sync.WaitGroup
		for i := range writers {
			all.Go(func() {
				for range appends {
					time.Sleep(time.Duration(i) * time.Millisecond / 3) //nolint:forbidigo // The clock of synctest does not wait.
					if err := q.submit(t.Context(), &folded{}); err != nil {
						t.Error(err)
					}
				}
			})
		}
		all.Wait()
		q.close()
		if most := writers * appends / 5; len(groups) > most {
			t.Errorf("%d appends took %d commits %v, want at most %d", writers*appends, len(groups), groups, most)
		}
		if slices.Max(groups) < minGatherGroup {
			t.Errorf("the groups are %v, want some of %d and more", groups, minGatherGroup)
		}
	})
}

// A single writer never waits for others.
func TestSingleWriterDoesNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(100, 1000, func(group []*pendingBatch) { group[0].done <- nil })
		began := time.Now()
		for range 100 {
			if err := q.submit(t.Context(), &folded{}); err != nil {
				t.Fatal(err)
			}
		}
		q.close()
		if took := time.Since(began); took != 0 {
			t.Errorf("it waited for %s", took)
		}
	})
}
