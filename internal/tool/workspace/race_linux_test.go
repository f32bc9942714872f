// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package workspace_test

import (
	"path/filepath"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// TestSwappedLinkLeadsNowhere swaps a directory of the root for a link to the outside and back as fast
// as possible while every tool works in it. No call may read or change anything outside.
func TestSwappedLinkLeadsNowhere(t *testing.T) {
	b := newBeside(t)
	put(t, filepath.Join(b.root, "d/canary.txt"), "inside\n")
	symlink(t, filepath.Join(b.dir, "outside"), filepath.Join(b.root, "l"))
	stop := startSwapping(t, b.root)

	const rounds = 60
	calls := []struct {
		tool string
		args args
	}{
		{"read", args{"path": "d/canary.txt"}},
		{"read", args{"path": "canary.txt", "cwd": "d"}},
		{"ls", args{"path": "d"}},
		{"glob", args{"pattern": "**"}},
		{"grep", args{"pattern": "CANARY"}},
		{"grep", args{"pattern": "CANARY", "path": "d"}},
		{"keyword_search", args{"keywords": []string{"CANARY"}, "path": "d"}},
		{"write", args{"path": "d/new.txt", "content": "x"}},
		{"write", args{"path": "d/canary.txt", "content": "inside\n"}},
		{"write", args{"path": "d/deep/er/new.txt", "content": "x"}},
		{"patch", args{"path": "d/canary.txt", "edits": []args{{"old_string": "n", "new_string": "N", "occurrence": 1}}}},
	}
	var group sync.WaitGroup
	for _, call := range calls {
		group.Go(func() {
			for range rounds {
				result, err := b.try(t.Context(), call.tool, call.args)
				if err != nil {
					t.Errorf("%s: %v", call.tool, err)
					return
				}
				checkNoCanary(t, result)
			}
		})
	}
	group.Go(func() {
		for range rounds / 10 {
			result, err := b.try(t.Context(), "bash", args{"command": "cat canary.txt", "cwd": "d"})
			if err != nil {
				t.Errorf("bash: %v", err)
				return
			}
			checkNoCanary(t, result)
		}
	})
	group.Wait()
	if swaps := stop(); swaps < rounds {
		t.Errorf("only %d swaps; the test proves nothing", swaps)
	}
	b.checkUnchanged(t)
}

// startSwapping exchanges d and l in the root until stop is called, which returns the number of exchanges.
func startSwapping(t *testing.T, root string) (stop func() int) {
	t.Helper()
	done, count := make(chan struct{}), make(chan int)
	d, l := filepath.Join(root, "d"), filepath.Join(root, "l")
	go func() {
		n := 0
		for {
			select {
			case <-done:
				count <- n
				return
			default:
			}
			if unix.Renameat2(unix.AT_FDCWD, d, unix.AT_FDCWD, l, unix.RENAME_EXCHANGE) == nil {
				n++
			}
		}
	}()
	return func() int {
		close(done)
		return <-count
	}
}
