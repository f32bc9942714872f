// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
)

func TestTakenShardsWakeTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var passes [][]int
		failures := 1
		w := &shardWaker{log: logr.Discard(), enqueue: func(_ context.Context, shards map[int]bool) error {
			if failures > 0 {
				failures--
				return errors.New("the cache is not ready")
			}
			passes = append(passes, slices.Sorted(maps.Keys(shards)))
			return nil
		}}
		for i := range 4 {
			w.wake(t.Context(), i)
		}
		<-time.After(time.Minute)
		synctest.Wait()
		w.wake(t.Context(), 7)
		<-time.After(time.Minute)
		synctest.Wait()
		if len(passes) != 2 || !slices.Equal(passes[0], []int{0, 1, 2, 3}) || !slices.Equal(passes[1], []int{7}) {
			t.Errorf("the passes enqueued the shards %v", passes)
		}
	})
}
