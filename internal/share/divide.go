// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package share

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"time"
)

const (
	// liveFor is the age of a row after which its needs are ignored. What it holds still counts.
	liveFor = 3 * time.Second
	// turnCredit is the lead that a replica needs to take the turn of another one. With two replicas a turn takes
	// twice as many seconds.
	turnCredit = 1.0
	// maxCredit bounds how long a replica can have a lead after it was busy or starved.
	maxCredit = 600.0
	// epsilon absorbs rounding errors of parts that are whole numbers.
	epsilon = 1e-6
)

type holder struct {
	replica string
	amount  int64
	age     time.Duration
	report
}

// counted is the amount that is not available to the other holders.
func (h holder) counted() int64 { return max(h.amount, h.Used) }

func (h holder) unit() int64 { return max(1, h.Unit) }

func (h holder) need() int64 {
	var sum int64
	for _, n := range h.Needs {
		sum += n[0]
	}
	return max(sum, h.Used)
}

type division struct {
	// target is the amount that the replica should hold. Less may be free.
	target int64
	// credit is the number of units that the replica lacked, times seconds.
	credit float64
	// weights are the parts of the namespaces' amounts that this replica should serve; nil if it is the only one.
	weights map[string]float64
}

// divide computes the part of one of the holders, which must be among them. Each replica computes the same parts from
// the same rows.
func divide(limit int64, holders []holder, own string) division {
	holders = slices.SortedFunc(slices.Values(holders), func(a, b holder) int { return cmp.Compare(a.replica, b.replica) })
	available := limit
	live := holders[:0:0]
	for _, h := range holders {
		if h.replica != own && h.age > liveFor {
			available -= h.counted()
			continue
		}
		live = append(live, h)
	}
	p := newPartition(max(0, available), live)
	at := slices.IndexFunc(live, func(h holder) bool { return h.replica == own })
	d := division{target: p.targets()[at]}
	if p.base(at) < live[at].need() {
		d.credit = min(max(p.credit(at), -maxCredit), maxCredit)
	}
	if len(live) > 1 {
		d.weights = p.weights[at]
	}
	return d
}

// replicaWeights computes only the weights, for a resource without a limit.
func replicaWeights(holders []holder, own string) map[string]float64 {
	return divide(math.MaxInt32, holders, own).weights
}

// partition is a limit divided among holders, in fractions.
type partition struct {
	limit   int64
	holders []holder
	quotas  []float64
	weights []map[string]float64
}

func newPartition(limit int64, holders []holder) partition {
	p := partition{limit: limit, holders: holders, quotas: make([]float64, len(holders)), weights: make([]map[string]float64, len(holders))}
	sums := map[string]float64{}
	for i, h := range holders {
		p.weights[i] = map[string]float64{}
		for name, n := range h.Needs {
			sums[name] += float64(n[0])
		}
	}
	names := slices.Sorted(maps.Keys(sums))
	needs, even := make([]float64, len(names)), make([]float64, len(names))
	for i, name := range names {
		needs[i], even[i] = sums[name], 1
	}
	for i, part := range fill(float64(limit), needs, even) {
		p.divideNamespace(names[i], part)
	}
	return p
}

func (p *partition) divideNamespace(name string, part float64) {
	needs, weights := make([]float64, len(p.holders)), make([]float64, len(p.holders))
	for i, h := range p.holders {
		needs[i], weights[i] = float64(h.Needs[name][0]), float64(max(1, h.Needs[name][1]))
	}
	for i, amount := range fill(part, needs, weights) {
		p.quotas[i] += amount
		if amount > 0 {
			p.weights[i][name] = amount / part
		}
	}
}

// fill divides a limit max-min fairly: each gets its need, or as much as all others that get less than their need, by
// weight.
func fill(limit float64, needs, weights []float64) []float64 {
	order, total := make([]int, len(needs)), 0.0
	for i := range needs {
		order[i] = i
		total += weights[i]
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(needs[a]/weights[a], needs[b]/weights[b]) })
	parts := make([]float64, len(needs))
	for _, i := range order {
		parts[i] = min(needs[i], limit*weights[i]/total)
		limit -= parts[i]
		total -= weights[i]
	}
	return parts
}

// base is the part of a holder in whole units.
func (p partition) base(i int) int64 {
	h, quota := p.holders[i], p.quotas[i]+epsilon
	switch {
	case quota >= float64(h.need()):
		return h.need()
	case quota > float64(h.Used):
		return h.Used + int64(quota-float64(h.Used))/h.unit()*h.unit()
	default:
		return int64(quota)
	}
}

// credit is the amount that the holder has lacked until now.
func (p partition) credit(i int) float64 {
	h := p.holders[i]
	return h.Credit + (p.quotas[i]-float64(h.amount))/float64(h.unit())*h.age.Seconds()
}

// waiting returns the holders that need more than their base, the next one first.
func (p partition) waiting() []int {
	var order []int
	lead := make([]float64, len(p.holders))
	for i, h := range p.holders {
		base := p.base(i)
		if base >= h.need() {
			continue
		}
		order = append(order, i)
		lead[i] = p.credit(i)
		if h.amount >= base+h.unit() {
			lead[i] += turnCredit
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(lead[b], lead[a]) })
	return order
}

// targets returns the amounts that the holders should have.
func (p partition) targets() []int64 {
	order := p.waiting()
	targets, left := p.bases()
	if len(order) == 0 {
		reserve := left / int64(2*len(targets))
		for i := range targets {
			targets[i] += reserve
		}
		return targets
	}
	if first := order[0]; p.needsTurn(first, left) {
		return p.turn(first)
	}
	for _, i := range order {
		if unit := p.holders[i].unit(); unit <= left {
			targets[i] += unit
			left -= unit
		}
	}
	for _, i := range order { // a rest that is too small for the first may be enough for others
		unit := p.holders[i].unit()
		more := max(0, min(left, p.holders[i].need()-targets[i])) / unit * unit
		targets[i] += more
		left -= more
	}
	return targets
}

func (p partition) bases() (bases []int64, left int64) {
	bases, left = make([]int64, len(p.holders)), p.limit
	for i := range bases {
		bases[i] = p.base(i)
		left -= bases[i]
	}
	return bases, left
}

// needsTurn reports whether a holder can start nothing within its part, and had less than its part: the others then
// make room for one unit, because it would wait forever.
func (p partition) needsTurn(i int, left int64) bool {
	unit := p.holders[i].unit()
	return left < unit && p.quotas[i] < float64(unit) && p.credit(i) > 0
}

// turn gives one unit to a holder and divides the rest among the others.
func (p partition) turn(first int) []int64 {
	h := p.holders[first]
	amount := min(h.Used+h.unit(), p.limit)
	rest := newPartition(p.limit-amount, slices.Delete(slices.Clone(p.holders), first, first+1))
	targets, left := rest.bases()
	for _, i := range rest.waiting() {
		if unit := rest.holders[i].unit(); unit <= left {
			targets[i] += unit
			left -= unit
		}
	}
	return slices.Insert(targets, first, amount)
}
