// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"errors"
	"os"
	"testing"
	"time"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/nestor-dev/nestor/internal/ledger/ledgertest/pgserver"
	"github.com/nestor-dev/nestor/test/bench/report"
	"github.com/nestor-dev/nestor/test/stack"
)

func arrivals(seconds ...float64) []recordedRequest {
	start := time.Unix(0, 0)
	var all []recordedRequest
	for _, s := range seconds {
		at := start.Add(time.Duration(s * float64(time.Second)))
		all = append(all, recordedRequest{began: at, ended: at.Add(time.Second), tokens: int64(10 * s)})
	}
	return all
}

func TestConcurrentRequestsAreCounted(t *testing.T) {
	for want, requests := range map[int][]recordedRequest{0: nil, 1: arrivals(0, 1, 2), 3: arrivals(0, 0.5, 0.9, 1.6, 5)} {
		if got := maxConcurrent(requests); got != want {
			t.Errorf("%d requests at the same time, want %d: %v", got, want, requests)
		}
	}
}

func TestWindowStartsAtAnyRequest(t *testing.T) {
	one := func(recordedRequest) int64 { return 1 }
	requests := arrivals(0, 30, 59, 60, 61, 89, 150)
	if got := maxInMinute(requests, one); got != 5 { // from 30 to 89
		t.Errorf("%d requests in a minute, want 5", got)
	}
	if got := maxInMinute(requests, func(r recordedRequest) int64 { return r.tokens }); got != 2990 {
		t.Errorf("%d tokens in a minute, want 2990", got)
	}
}

func TestShardsSpreadEvenly(t *testing.T) {
	r := &harness{operators: []*operator{{id: "a"}, {id: "b"}, {id: "c"}}}
	holders := map[int]string{}
	for i := range shards {
		holders[i] = []string{"a", "b", "c"}[i%3]
	}
	if !r.isSpread(holders) {
		t.Error("11, 11 and 10 shards are not regarded as spread")
	}
	holders[1] = "a"
	holders[4] = "a"
	if r.isSpread(holders) {
		t.Error("13, 9 and 10 shards are regarded as spread")
	}
	delete(holders, 1)
	holders[4] = "b"
	if r.isSpread(holders) {
		t.Error("a shard without a holder is not detected")
	}
}

// TestSmallHandOver ends one of three operators of a real stack.
func TestSmallHandOver(t *testing.T) {
	ctrl.SetLogger(logr.Discard())
	server, err := pgserver.New(t.Context())
	if errors.Is(err, pgserver.ErrNotInstalled) && os.Getenv("CI") != "true" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Close(); err != nil {
		t.Fatal(err)
	}
	result := newHandOver(sigterm, 15, 30, 3*time.Second).Run(t.Context(), Environment{Ledger: stack.PostgreSQL, Timeout: 5 * time.Minute, Logf: t.Logf, Programs: programs(t)})
	if result.Error != "" || result.Failures != 0 {
		t.Fatalf("%s", result)
	}
	t.Log(result)
	if got, ok := result.Figure(report.FigureRepeated); !ok || got > 0 {
		t.Errorf("%s: %v (%t), want 0", report.FigureRepeated, got, ok)
	}
}
