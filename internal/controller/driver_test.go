// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"testing"
)

// recordedCloser records when it is closed.
type recordedCloser struct {
	name   string
	closed *[]string
	err    error
}

func (c recordedCloser) Close(ctx context.Context) error {
	if ctx.Err() == nil {
		*c.closed = append(*c.closed, c.name)
	}
	return c.err
}

// TestEngineClosesBeforeDependencies: a shard that is handed over at shutdown starts tool calls until then.
func TestEngineClosesBeforeDependencies(t *testing.T) {
	var closed []string
	failed := errors.New("calls in flight were aborted")
	d := &driver{closers: []closer{recordedCloser{"engine", &closed, failed}, recordedCloser{"workspaces", &closed, nil}, recordedCloser{"tool servers", &closed, nil}}}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := d.drain(ended); !errors.Is(err, failed) {
		t.Errorf("%v, want %v", err, failed)
	}
	if want := "[engine workspaces tool servers]"; fmt.Sprint(closed) != want {
		t.Errorf("closed %v, want %s", closed, want)
	}
}

func TestMemoryIsReturnedAfterBurst(t *testing.T) {
	var b allocationBurst
	for i, look := range []struct {
		allocated uint64
		over      bool
	}{
		{idleBytes, false},                  // start
		{3 * burstBytes, false},             // burst
		{4 * burstBytes, false},             // burst continues
		{4*burstBytes + 1, true},            // burst ended
		{4*burstBytes + 2, false},           // reported only once
		{4*burstBytes + 2*idleBytes, false}, // a small allocation
		{4*burstBytes + 2*idleBytes, false}, // is no burst
		{5*burstBytes + 2*idleBytes, false}, // the next burst starts
		{5*burstBytes + 2*idleBytes + 1, true},
	} {
		if got := b.over(look.allocated); got != look.over {
			t.Errorf("check %d: over(%d) = %t", i, look.allocated, got)
		}
	}
	before := allocated()
	kept = make([]byte, idleBytes)
	if after := allocated(); after-before < idleBytes {
		t.Errorf("allocated %d bytes, counted %d", idleBytes, after-before)
	}
}

// kept keeps the compiler from optimizing an allocation away.
var kept []byte
