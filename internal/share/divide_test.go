// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package share

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// needing returns a holder with an amount of 0 and the given needs by namespace, each with a weight of 1.
func needing(replica string, needs map[string]int64) holder {
	h := holder{replica: replica, report: report{Needs: map[string][2]int64{}}}
	for name, n := range needs {
		h.Needs[name] = [2]int64{n, 1}
	}
	return h
}

func allTargets(limit int64, holders []holder) []int64 {
	var got []int64
	for _, h := range holders {
		got = append(got, divide(limit, holders, h.replica).target)
	}
	return got
}

func TestDivision(t *testing.T) {
	weighted := needing("r1", map[string]int64{"a": 1000})
	weighted.Needs["a"] = [2]int64{1000, 3}
	dead := needing("r3", map[string]int64{"c": 100})
	dead.amount, dead.age = 4, 5*time.Second
	large := needing("r1", map[string]int64{"a": 5000})
	large.Unit = 1000
	large.Credit = 1
	for name, tc := range map[string]struct {
		limit   int64
		holders []holder
		want    []int64
	}{
		"namespaces get equal parts, whatever their number of replicas": {
			12, []holder{needing("r1", map[string]int64{"a": 100, "b": 100}), needing("r2", map[string]int64{"a": 100})}, []int64{9, 3},
		},
		"others get the unneeded part of a namespace": {
			12, []holder{needing("r1", map[string]int64{"a": 2}), needing("r2", map[string]int64{"b": 100})}, []int64{2, 10},
		},
		"the part of a namespace is divided by weight": {
			12, []holder{weighted, needing("r2", map[string]int64{"a": 1000})}, []int64{9, 3},
		},
		"an idle replica keeps a reserve": {
			64, []holder{needing("r1", map[string]int64{"a": 4}), needing("r2", nil)}, []int64{19, 15},
		},
		"an idle replica keeps nothing that others need": {
			64, []holder{needing("r1", map[string]int64{"a": 100}), needing("r2", nil)}, []int64{64, 0},
		},
		"the amount of a replica that does not report is not divided": {
			10, []holder{needing("r1", map[string]int64{"a": 100}), needing("r2", map[string]int64{"b": 100}), dead}, []int64{3, 3},
		},
		"a call as large as the limit gets all of it": {
			1000, []holder{large, needing("r2", map[string]int64{"b": 500})}, []int64{1000, 0},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, allTargets(tc.limit, tc.holders)[:len(tc.want)]); diff != "" {
				t.Errorf("targets (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWeightsAreFractionsOfNamespaces(t *testing.T) {
	holders := []holder{needing("r1", map[string]int64{"a": 100, "b": 100}), needing("r2", map[string]int64{"a": 100})}
	if diff := cmp.Diff(map[string]float64{"a": 0.5, "b": 1}, divide(12, holders, "r1").weights); diff != "" {
		t.Errorf("weights (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]float64{"a": 0.5, "b": 1}, replicaWeights(holders, "r1")); diff != "" {
		t.Errorf("weights without a limit (-want +got):\n%s", diff)
	}
	if got := divide(12, holders[:1], "r1").weights; got != nil {
		t.Errorf("the only replica has weights: %v", got)
	}
}

// TestTargetsFitIntoTheLimit draws the reports of live replicas. The sum of the targets must not exceed the limit.
// With units of 1, the targets must use the whole limit as long as there is need.
func TestTargetsFitIntoTheLimit(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		limit := rapid.Int64Range(1, 100).Draw(rt, "limit")
		maxUnit := rapid.SampledFrom([]int64{1, 30}).Draw(rt, "maxUnit")
		var holders []holder
		var need int64
		for i := range rapid.IntRange(1, 5).Draw(rt, "replicas") {
			h := needing(fmt.Sprint("r", i), nil)
			for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "c"}), 0, 3, rapid.ID).Draw(rt, "namespaces") {
				h.Needs[name] = [2]int64{rapid.Int64Range(1, 80).Draw(rt, "need"), rapid.Int64Range(0, 5).Draw(rt, "weight")}
			}
			h.Used = rapid.Int64Range(0, h.need()).Draw(rt, "used")
			h.amount = rapid.Int64Range(0, limit).Draw(rt, "amount")
			h.Unit = min(limit, rapid.Int64Range(0, maxUnit).Draw(rt, "unit"))
			h.Credit = rapid.Float64Range(-10, 10).Draw(rt, "credit")
			h.age = time.Duration(rapid.IntRange(0, 3000).Draw(rt, "age")) * time.Millisecond
			need += h.need()
			holders = append(holders, h)
		}
		var sum int64
		for i, target := range allTargets(limit, holders) {
			sum += target
			if target < 0 {
				rt.Fatalf("target %d of %s", target, holders[i].replica)
			}
		}
		if sum > limit {
			rt.Fatalf("the targets sum to %d, the limit is %d", sum, limit)
		}
		if maxUnit == 1 && sum < min(limit, need) {
			rt.Fatalf("the targets sum to %d, the limit is %d and the need %d", sum, limit, need)
		}
	})
}

// TestFewUnitsRotate simulates replicas that together need more than the limit. Each makes one transaction a second.
// On average each must hold its part, and none may be without a unit for longer than the test case allows.
func TestFewUnitsRotate(t *testing.T) {
	for name, tc := range map[string]struct {
		limit   int64
		needs   []map[string]int64
		want    []float64 // parts of the limit, on average
		longest int       // maximum seconds without a unit
	}{
		"one unit, two replicas":   {1, []map[string]int64{{"a": 9}, {"b": 9}}, []float64{0.5, 0.5}, 5},
		"one unit, five replicas":  {1, []map[string]int64{{"a": 9}, {"b": 9}, {"c": 9}, {"d": 9}, {"e": 9}}, []float64{0.2, 0.2, 0.2, 0.2, 0.2}, 20},
		"two units, three":         {2, []map[string]int64{{"a": 9}, {"b": 9}, {"c": 9}}, []float64{0.667, 0.667, 0.667}, 5},
		"five units, three":        {5, []map[string]int64{{"a": 9}, {"b": 9}, {"c": 9}}, []float64{1.667, 1.667, 1.667}, 3},
		"a replica with two parts": {1, []map[string]int64{{"a": 9, "b": 9}, {"c": 9}}, []float64{0.667, 0.333}, 10},
	} {
		t.Run(name, func(t *testing.T) {
			const seconds = 600
			holders := make([]holder, len(tc.needs))
			for i, needs := range tc.needs {
				holders[i] = needing(fmt.Sprint("r", i), needs)
			}
			sums, without, longest := make([]int64, len(holders)), make([]int, len(holders)), 0
			step := time.Second / time.Duration(len(holders))
			for range seconds {
				for i := range holders {
					for j := range holders {
						holders[j].age += step
					}
					rotate(t, tc.limit, holders, i)
				}
				for i, h := range holders {
					sums[i] += h.amount
					without[i]++
					if h.amount > 0 {
						without[i] = 0
					}
					longest = max(longest, without[i])
				}
			}
			t.Logf("held: %v of %d, longest without: %d s", sums, seconds, longest)
			var total int64
			for _, sum := range sums {
				total += sum
			}
			// A unit that one replica has released stays unused until the transaction of the next replica.
			if total < seconds*tc.limit*3/4 {
				t.Errorf("on average %.2f of %d were held", float64(total)/seconds, tc.limit)
			}
			for i, want := range tc.want {
				if got := float64(sums[i]*tc.limit) / float64(total); got < 0.9*want || got > 1.1*want {
					t.Errorf("replica %d held a part of %.2f, want %.2f", i, got, want)
				}
			}
			if longest > tc.longest {
				t.Errorf("a replica held nothing for %d s, want at most %d", longest, tc.longest)
			}
		})
	}
}

// rotate performs the transaction of holder i, which has no unit in use.
func rotate(t *testing.T, limit int64, holders []holder, i int) {
	part := divide(limit, holders, holders[i].replica)
	free := limit
	for j, h := range holders {
		if j != i {
			free -= h.counted()
		}
	}
	if free < 0 {
		t.Fatalf("the others hold %d more than the limit", -free)
	}
	holders[i].amount, holders[i].age, holders[i].Credit = min(part.target, free), 0, part.credit
}

func TestReportIsBounded(t *testing.T) {
	d := Demand{Needs: map[string]Need{}}
	for i := range 1000 {
		d.Needs[fmt.Sprint("namespace-", i)] = Need{Amount: int64(i + 1), Weight: 1}
	}
	r := newReport(d, 0)
	if len(r.Needs) != maxNamespaces+1 {
		t.Errorf("%d namespaces are reported, want %d and one for the rest", len(r.Needs), maxNamespaces)
	}
	if got := (holder{report: r}).need(); got != 1000*1001/2 {
		t.Errorf("the reported needs sum to %d", got)
	}
	if len(r.encode()) > 10_000 {
		t.Errorf("a report has %d bytes", len(r.encode()))
	}
}

func TestExpiry(t *testing.T) {
	since := time.Now()
	for name, tc := range map[string]struct {
		now  time.Time
		want bool
	}{
		"valid":                     {since.Add(ValidFor - time.Millisecond), false},
		"expired":                   {since.Add(ValidFor), true},
		"the machine was suspended": {since.Round(0).Add(ValidFor), true}, // only the wall clock advanced
	} {
		if got := Expired(since, tc.now); got != tc.want {
			t.Errorf("%s: expired %t, want %t", name, got, tc.want)
		}
	}
}
