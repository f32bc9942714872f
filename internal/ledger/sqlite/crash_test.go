// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package sqlite_test

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/nestor-dev/nestor/internal/ledger/connect"
	"github.com/nestor-dev/nestor/internal/ledger/ledgertest"
)

const (
	crashes     = 50
	crashAgents = 8
)

// appendUntilKilled is the child: it prints each acknowledged sequence before it appends the next one.
func appendUntilKilled(ctx context.Context, dsn string) error {
	l, err := connect.Open(ctx, dsn)
	if err != nil {
		return err
	}
	failed := make(chan error)
	for i := range crashAgents {
		uid := fmt.Sprintf("agent-%d", i)
		go func() {
			failed <- ledgertest.AppendForever(ctx, l, uid, func(seq int64) { fmt.Fprintf(os.Stdout, "%s %d\n", uid, seq) })
		}()
	}
	return <-failed
}

// TestNothingAcknowledgedIsLostWhenKilled kills a process that appends, again and again on the same file: while it
// opens the file, between two acknowledgements, at any moment.
func TestNothingAcknowledgedIsLostWhenKilled(t *testing.T) {
	db := newDatabase(t)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	promised := ledgertest.NewAcknowledged()
	for range crashes {
		runAndKill(t, db.DSN, promised, random.IntN(150), time.Duration(random.IntN(3000))*time.Microsecond)
		l, err := connect.Open(t.Context(), db.DSN)
		if err != nil {
			t.Fatalf("open after a crash: %v", err)
		}
		promised.Check(t, l)
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		if t.Failed() {
			return
		}
	}
	if promised.Events() == 0 {
		t.Error("no child has lived long enough to append")
	}
	t.Logf("%d acknowledged events survived %d crashes", promised.Events(), crashes)
}

// runAndKill kills a child a moment after a number of acknowledgements, and notes also those that it still got out.
func runAndKill(t *testing.T, dsn string, promised *ledgertest.Acknowledged, acknowledgements int, moment time.Duration) {
	t.Helper()
	cmd := child(t, "append", dsn)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for n := 0; ; n++ {
		if n == acknowledgements {
			time.AfterFunc(moment, func() { _ = cmd.Process.Kill() })
		}
		if !lines.Scan() {
			break
		}
		var uid string
		var seq int64
		if _, err := fmt.Sscanf(lines.Text(), "%s %d", &uid, &seq); err != nil {
			t.Fatalf("line %q: %v", lines.Text(), err)
		}
		promised.Note(uid, seq)
	}
	if err := cmd.Wait(); err == nil || err.Error() != "signal: killed" {
		t.Fatalf("the child ended with %v before it was killed", err)
	}
}
