// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package cloudauth

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nestor-dev/nestor/internal/model"
)

// TestCallersDoNotWaitForEachOther: if the service hangs, every caller gets an error in time, and not after those
// before it.
func TestCallersDoNotWaitForEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCache[string]()
		hangs := func(ctx context.Context) (string, time.Time, error) {
			<-ctx.Done()
			return "", time.Time{}, failed(model.Transient, "it hangs")
		}
		start := time.Now()
		ended := make(chan error)
		for range 5 {
			go func() {
				_, err := c.get(t.Context(), "", hangs)
				ended <- err
			}()
		}
		for range 5 {
			if typed := new(model.Error); !errors.As(<-ended, &typed) || typed.Kind != model.Transient {
				t.Errorf("got %v, want a failure to be tried again", typed)
			}
		}
		if waited := time.Since(start); waited > requestTimeout {
			t.Errorf("the last one waited %s", waited)
		}
	})
}
