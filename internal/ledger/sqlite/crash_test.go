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

// appendUntilKilled runs in the child process: it prints each acknowledged sequence number before the next append.
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

// TestAcknowledgedEventsSurviveAKill repeatedly kills a process that appends to the same file: while it opens the file,
// between two acknowledgements, at any moment.
func TestAcknowledgedEventsSurviveAKill(t *testing.T) {
	db := newDatabase(t)
	random := newRandom(t)
	promised := ledgertest.NewAcknowledged(1)
	for range crashes {
		for line := range appendAndKill(t, db.DSN, random) {
			promised.Add(line.uid, line.seq)
		}
		checkReopened(t, db.DSN, promised)
	}
	if promised.Events() == 0 {
		t.Error("no child lived long enough to append")
	}
	t.Logf("%d acknowledged events survived %d crashes", promised.Events(), crashes)
}

// TestTwoProcessesNeverShareSequence runs two operators by mistake on the same agents and kills them now and then.
func TestTwoProcessesNeverShareSequence(t *testing.T) {
	db := newDatabase(t)
	random := newRandom(t)
	promised := ledgertest.NewAcknowledged(2)
	owner := map[acknowledgement]int{}
	wins := [2]int{}
	for range 5 {
		processes := [2]<-chan acknowledgement{appendAndKill(t, db.DSN, random), appendAndKill(t, db.DSN, random)}
		for i, lines := range processes {
			for line := range lines {
				if other, taken := owner[line]; taken {
					t.Fatalf("processes %d and %d both got an acknowledgement of event %d of %s", other, i, line.seq, line.uid)
				}
				owner[line] = i
				wins[i]++
				promised.Add(line.uid, line.seq)
			}
		}
		checkReopened(t, db.DSN, promised)
	}
	t.Logf("the processes got acknowledgements of %d and %d batches", wins[0], wins[1])
}

func newRandom(t *testing.T) *rand.Rand {
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// checkReopened opens the file as the next process would.
func checkReopened(t *testing.T, dsn string, promised *ledgertest.Acknowledged) {
	t.Helper()
	l, err := connect.Open(t.Context(), dsn)
	if err != nil {
		t.Fatalf("open after a crash: %v", err)
	}
	promised.Check(t, l)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if t.Failed() {
		t.FailNow()
	}
}

type acknowledgement struct {
	uid string
	seq int64
}

// appendAndKill starts a child and kills it at a random moment after a random number of acknowledgements. It returns everything
// that the child has printed, also after the kill was sent; the channel is closed when the child has ended.
func appendAndKill(t *testing.T, dsn string, random *rand.Rand) <-chan acknowledgement {
	t.Helper()
	acknowledgements, moment := random.IntN(150), time.Duration(random.IntN(3000))*time.Microsecond
	cmd := child(t, "append", dsn)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	// The buffer holds all lines, so that a child does not wait while the test reads those of another one.
	lines := make(chan acknowledgement, 10_000)
	go func() {
		defer close(lines)
		scanner := bufio.NewScanner(out)
		for n := 0; ; n++ {
			if n == acknowledgements {
				time.AfterFunc(moment, func() { _ = cmd.Process.Kill() })
			}
			if !scanner.Scan() {
				break
			}
			var line acknowledgement
			if _, err := fmt.Sscanf(scanner.Text(), "%s %d", &line.uid, &line.seq); err != nil {
				t.Errorf("line %q: %v", scanner.Text(), err)
			}
			lines <- line
		}
		if err := cmd.Wait(); err == nil || err.Error() != "signal: killed" {
			t.Errorf("the child ended with %v before it was killed", err)
		}
	}()
	return lines
}
