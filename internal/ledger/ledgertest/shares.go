// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package ledgertest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/nestor-dev/nestor/internal/ledger"
)

// shareTTL is longer than any test takes.
const shareTTL = time.Hour

func updateShares(t *testing.T, l ledger.Ledger, replica string, resources []string, next ...ledger.Share) []ledger.Share {
	t.Helper()
	var read []ledger.Share
	err := l.UpdateShares(t.Context(), replica, resources, shareTTL, func(all []ledger.Share) []ledger.Share {
		read = slices.Clone(all)
		return next
	})
	if err != nil {
		t.Fatal(err)
	}
	return read
}

func wantShares(t *testing.T, want, got []ledger.Share) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty(), cmpopts.IgnoreFields(ledger.Share{}, "Age")); diff != "" {
		t.Errorf("shares (-want +got):\n%s", diff)
	}
}

func testSharesAreStoredForEachReplica(t *testing.T, db Database) {
	l := db.Open(t)
	both := []string{"calls", "tokens"}
	a := ledger.Share{Resource: "calls", Replica: "a", Amount: 5, Demand: []byte(`{"waiting": 3}`)}
	b := ledger.Share{Resource: "calls", Replica: "b", Amount: 2}
	tokens := ledger.Share{Resource: "tokens", Replica: "b"}
	wantShares(t, nil, updateShares(t, l, "a", both, a))
	// The replica of a returned share is the one that decides.
	wantShares(t, []ledger.Share{a}, updateShares(t, l, "b", both, tokens, ledger.Share{Resource: "calls", Replica: "a", Amount: 2}))
	wantShares(t, []ledger.Share{a, b, tokens}, updateShares(t, l, "c", both))
	wantShares(t, []ledger.Share{tokens}, updateShares(t, l, "a", []string{"tokens"}))
	wantShares(t, []ledger.Share{a, b}, updateShares(t, l, "a", []string{"calls"}))
	wantShares(t, []ledger.Share{b, tokens}, updateShares(t, l, "b", both, b))
	wantShares(t, []ledger.Share{b}, updateShares(t, l, "c", both))

	keep := func([]ledger.Share) []ledger.Share { return []ledger.Share{b} }
	for name, err := range map[string]error{
		"no replica":         l.UpdateShares(t.Context(), "", both, shareTTL, keep),
		"no time to live":    l.UpdateShares(t.Context(), "b", both, 0, keep),
		"an invalid name":    l.UpdateShares(t.Context(), "b", []string{"calls\x00"}, shareTTL, keep),
		"another resource":   l.UpdateShares(t.Context(), "b", []string{"tokens"}, shareTTL, keep),
		"a negative amount":  l.UpdateShares(t.Context(), "b", both, shareTTL, func([]ledger.Share) []ledger.Share { return []ledger.Share{{Resource: "calls", Amount: -1}} }),
		"a resource twice":   l.UpdateShares(t.Context(), "b", both, shareTTL, func([]ledger.Share) []ledger.Share { return []ledger.Share{b, b} }),
		"an unknown, as one": l.UpdateShares(t.Context(), "b", both, shareTTL, func([]ledger.Share) []ledger.Share { return []ledger.Share{{}} }),
	} {
		if !errors.Is(err, ledger.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := l.UpdateShares(t.Context(), "b", nil, shareTTL, keep); err != nil {
		t.Errorf("without resources: %v", err)
	}
	wantShares(t, []ledger.Share{b}, updateShares(t, l, "c", both))
}

func testSharesExpire(t *testing.T, db Database) {
	l := db.Open(t)
	calls := []string{"calls"}
	share := func(replica string) ledger.Share {
		return ledger.Share{Resource: "calls", Replica: replica, Amount: 1}
	}
	for _, replica := range []string{"a", "b", "c"} {
		updateShares(t, l, replica, calls, share(replica))
	}
	updateShares(t, l, "c", []string{"dropped"}, ledger.Share{Resource: "dropped", Amount: 1})
	// back moves the times of shares into the past, as if time had passed.
	back := func(condition string, d time.Duration) {
		db.Exec(t, fmt.Sprintf("UPDATE shares SET written_at = written_at - %[1]d, expires_at = expires_at - %[1]d WHERE %[2]s", d.Microseconds(), condition))
	}
	back("replica = 'a'", shareTTL-time.Minute)
	back("replica = 'b'", shareTTL+time.Minute)
	back("replica = 'c'", shareTTL+11*time.Minute)
	expired := func(replica string) ledger.Share {
		s := share(replica)
		s.Expired = true
		return s
	}
	read := updateShares(t, l, "d", calls)
	wantShares(t, []ledger.Share{share("a"), expired("b"), expired("c")}, read)
	for i, want := range []time.Duration{shareTTL - time.Minute, shareTTL + time.Minute, shareTTL + 11*time.Minute} {
		if age := read[i].Age; age < want || age > want+time.Minute {
			t.Errorf("the share of %s has age %s, want %s", read[i].Replica, age, want)
		}
	}
	// The stale share was deleted, also that of a resource for which no replica asks.
	wantShares(t, []ledger.Share{share("a"), expired("b")}, updateShares(t, l, "d", calls))
	if rows := db.rows(t, "shares"); rows != 2 {
		t.Errorf("the table has %d rows, want 2", rows)
	}
	// A renewed share is valid again.
	updateShares(t, l, "b", calls, share("b"))
	wantShares(t, []ledger.Share{share("a"), share("b")}, updateShares(t, l, "d", calls))

	const short = 20 * time.Millisecond
	began := time.Now()
	if err := l.UpdateShares(t.Context(), "d", calls, short, func([]ledger.Share) []ledger.Share { return []ledger.Share{share("d")} }); err != nil {
		t.Fatal(err)
	}
	Eventually(t, "the share expires", func() bool {
		read := updateShares(t, l, "e", calls)
		return read[len(read)-1].Expired
	})
	if took := time.Since(began); took < short {
		t.Errorf("a share of %s has expired after %s", short, took)
	}
}

// testRacingSharesNeverExceed lets replicas change their shares of a limit concurrently. The sum of what they use at any moment must
// not exceed the limit.
func testRacingSharesNeverExceed(t *testing.T, db Database) {
	const limit, replicas, rounds = 10, 8, 40
	ledgers := []ledger.Ledger{db.Open(t), db.Open(t), db.Open(t)}
	var mu sync.Mutex
	var used [replicas]int64
	most := int64(0)
	use := func(replica int, amount int64) {
		mu.Lock()
		defer mu.Unlock()
		used[replica] = amount
		sum := int64(0)
		for _, n := range used {
			sum += n
		}
		if most = max(most, sum); sum > limit {
			t.Errorf("%d of %d are used: %v", sum, limit, used)
		}
	}
	inParallel(t, replicas, func(i int) error {
		name := fmt.Sprintf("replica-%d", i)
		random := rand.New(rand.NewPCG(uint64(i), 1)) //nolint:gosec // repeatable
		granted := int64(0)
		for range rounds {
			want := random.Int64N(limit + 1)
			use(i, min(granted, want)) // A replica uses less before it returns a part of its share.
			err := ledgers[i%len(ledgers)].UpdateShares(t.Context(), name, []string{"calls"}, shareTTL, func(all []ledger.Share) []ledger.Share {
				free := int64(limit)
				for _, s := range all {
					if s.Replica != name && !s.Expired {
						free -= s.Amount
					}
				}
				if free < 0 {
					t.Errorf("others have %d more than the limit", -free)
				}
				granted = max(0, min(want, free))
				return []ledger.Share{{Resource: "calls", Amount: granted}}
			})
			if err != nil {
				return err
			}
			use(i, granted)
		}
		return nil
	})
	if most < limit {
		t.Errorf("at most %d of %d were used", most, limit)
	}
}

// testReplicasWithManyResources lets replicas update overlapping sets of resources, in any order, with stale rows to delete: they must
// not deadlock.
func testReplicasWithManyResources(t *testing.T, db Database) {
	const replicas, resources, rounds = 6, 12, 15
	ledgers := []ledger.Ledger{db.Open(t), db.Open(t), db.Open(t)}
	inParallel(t, replicas, func(i int) error {
		random := rand.New(rand.NewPCG(uint64(i), 2)) //nolint:gosec // repeatable
		for range rounds {
			var some []string
			for _, n := range random.Perm(resources)[:resources/2] {
				some = append(some, fmt.Sprintf("resource-%d", n))
			}
			for _, resource := range some { // One at a time: this update is not part of the locking order.
				if _, err := db.Raw.ExecContext(t.Context(), "UPDATE shares SET expires_at = 0 WHERE resource = $1 AND replica = $2", resource, fmt.Sprintf("replica-%d", random.IntN(replicas))); err != nil {
					return err
				}
			}
			err := ledgers[i%len(ledgers)].UpdateShares(t.Context(), fmt.Sprintf("replica-%d", i), some, shareTTL, func([]ledger.Share) []ledger.Share {
				var next []ledger.Share
				for _, resource := range some[:resources/3] {
					next = append(next, ledger.Share{Resource: resource, Amount: 1})
				}
				return next
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
}
