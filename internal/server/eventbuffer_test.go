// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func names(events []event) []string {
	var all []string
	for _, e := range events {
		all = append(all, e.key+"@"+e.position)
	}
	return all
}

func TestNewerStateReplacesOlder(t *testing.T) {
	t.Parallel()
	o := newEventBuffer(10)
	for _, e := range []event{{key: "a", position: "1"}, {key: "b", position: "2"}, {key: "a", position: "3"}, {position: "4"}, {position: "5"}} {
		if err := o.put(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]string{"b@2", "a@3", "@4", "@5"}, names(o.take(t.Context()))); diff != "" {
		t.Error(diff)
	}
}

func TestFullOutboxBlocksTheSources(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := newEventBuffer(2)
		put := make(chan string, 3)
		go func() {
			for _, key := range []string{"a", "b", "c"} {
				_ = o.put(t.Context(), event{key: key}) // its absence fails the test below
				put <- key
			}
		}()
		synctest.Wait()
		if len(put) != 2 {
			t.Fatalf("%d events were taken, want 2 and the third to wait", len(put))
		}
		if err := o.put(t.Context(), event{key: "a", position: "2"}); err != nil {
			t.Fatalf("a newer state of what waits needs no room: %v", err)
		}
		if diff := cmp.Diff([]string{"b@", "a@2"}, names(o.take(t.Context()))); diff != "" {
			t.Error(diff)
		}
		synctest.Wait()
		if diff := cmp.Diff([]string{"c@"}, names(o.take(t.Context()))); diff != "" {
			t.Error(diff)
		}
	})
}

func TestPutEndsWithItsContext(t *testing.T) {
	t.Parallel()
	o := newEventBuffer(1)
	ctx, cancel := context.WithCancel(t.Context())
	if err := o.put(ctx, event{}); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := o.put(ctx, event{}); err == nil {
		t.Error("put succeeded without room")
	}
}

func TestTranscriptEntriesAreKept(t *testing.T) {
	t.Parallel()
	o := newEventBuffer(2)
	for _, e := range []event{
		{key: "t", parts: [][]byte{[]byte("1")}, source: "t", position: "1"},
		{key: "t", parts: [][]byte{[]byte("d")}}, // a delta does not change the position
		{key: "t", parts: [][]byte{[]byte("e")}},
	} {
		if err := o.put(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	taken := o.take(t.Context())
	if len(taken) != 1 || len(taken[0].parts) != 3 || taken[0].position != "1" {
		t.Errorf("got %+v", taken)
	}
}

func TestLongTranscriptBlocksTheSource(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := newEventBuffer(10)
		big := [][]byte{[]byte(strings.Repeat("x", maxBatch))}
		if err := o.put(t.Context(), event{key: "t", parts: big}); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := o.put(ctx, event{key: "t", parts: big}); err == nil {
			t.Error("it buffered more than its limit")
		}
	})
}
