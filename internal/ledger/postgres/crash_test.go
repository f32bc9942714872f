// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/ledger/ledgertest"
)

// crashesVariable sets how often the server is killed; each kill costs a recovery of the server.
const crashesVariable = "NESTOR_LEDGER_CRASHES"

const crashAgents = 8

func crashes(t *testing.T) int {
	t.Helper()
	text := os.Getenv(crashesVariable)
	if text == "" {
		return 10
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("%s: %v", crashesVariable, err)
	}
	return n
}

// TestAcknowledgedEventsSurviveServerKill repeatedly kills the server while writers append. The ledger stays open and
// must recover automatically when the server is back.
func TestAcknowledgedEventsSurviveServerKill(t *testing.T) {
	l := newDatabase(t).Open(t)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	promised := ledgertest.NewAcknowledged(1)
	rounds := crashes(t)
	for range rounds {
		appendAndKill(t, l, promised, 1+random.Int64N(300))
		if err := server.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		promised.Check(t, l)
		if t.Failed() {
			return
		}
	}
	t.Logf("%d acknowledged events survived %d crashes of the server", promised.Events(), rounds)
}

// appendAndKill kills the server after a number of acknowledgements, and waits until every writer has failed.
func appendAndKill(t *testing.T, l ledger.Ledger, promised *ledgertest.Acknowledged, acknowledgements int64) {
	t.Helper()
	var count atomic.Int64
	reached := make(chan struct{})
	failed := make(chan error, crashAgents)
	for i := range crashAgents {
		uid := fmt.Sprintf("agent-%d", i)
		go func() {
			failed <- ledgertest.AppendForever(context.WithoutCancel(t.Context()), l, uid, func(seq int64) {
				promised.Add(uid, seq)
				if count.Add(1) == acknowledgements {
					close(reached)
				}
			})
		}()
	}
	early := 0
	select {
	case <-reached:
	case err := <-failed:
		t.Errorf("before the server was killed: %v", err)
		early = 1
	}
	if err := server.Kill(); err != nil {
		t.Fatal(err)
	}
	for range crashAgents - early {
		if err := <-failed; !errors.Is(err, ledger.ErrUnavailable) {
			t.Errorf("with the server gone: %v, want ErrUnavailable", err)
		}
	}
}
