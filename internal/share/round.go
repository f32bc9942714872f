// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package share

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"time"
)

type round struct {
	replica string
	now     time.Time
	// lapsed reports that this replica could not reach the ledger until now, and recovering that this was so until
	// recently.
	lapsed, recovering bool
	resources          []string
	entries            map[string]entry
	decisions          []decision
}

type entry struct {
	Demand
	source Source
	// giveUp is set when nothing more may start: the replica stops, or has not used the resource for a while.
	giveUp bool
}

// decision is the result of a round for a resource.
type decision struct {
	source Source
	share  Share
	// behind reports that this replica should have a larger amount, and drop that it no longer needs a row.
	behind, drop bool
}

// plan collects the demands. A resource that is not used for idleFor is given up.
func (k *Keeper) plan(now time.Time, stopping bool) *round {
	r := &round{replica: k.replica, now: now, entries: map[string]entry{}}
	r.lapsed = k.lastSuccess.IsZero() || len(k.held) > 0 && now.Sub(k.lastSuccess) > countsFor
	r.recovering = r.lapsed || now.Before(k.recoveryUntil)
	for _, source := range k.sources {
		for _, d := range source.Demands() {
			if k.held[d.Resource] == nil && !d.active() {
				continue
			}
			idle := k.idle(source, d, now)
			r.entries[d.Resource] = entry{Demand: d, source: source, giveUp: stopping || idle}
		}
	}
	for name, state := range k.held {
		if _, ok := r.entries[name]; !ok { // the source has dropped it
			r.entries[name] = entry{Demand: Demand{Resource: name}, source: state.source, giveUp: true}
		}
	}
	r.resources = slices.Sorted(maps.Keys(r.entries))
	return r
}

// idle reports whether a resource was not used for idleFor.
func (k *Keeper) idle(source Source, d Demand, now time.Time) bool {
	state := k.held[d.Resource]
	if state == nil {
		state = &heldState{source: source}
		k.held[d.Resource] = state
	}
	if d.active() && !onlyPast(d) {
		state.idleSince = time.Time{}
		return false
	}
	if state.idleSince.IsZero() {
		state.idleSince = now
	}
	return now.Sub(state.idleSince) >= idleFor
}

// onlyPast reports whether a demand per minute consists only of earlier use.
func onlyPast(d Demand) bool {
	var need int64
	for _, n := range d.Needs {
		need += n.Amount
	}
	return d.PerMinute && d.BackOff == 0 && need <= d.Used
}

// decide computes the rows of this replica. The sources are lowered here, before the transaction ends: when others
// read a smaller amount, it is no longer used. If the transaction fails, the replica uses less than its row contains
// until the next one.
func (r *round) decide(all []Row) []Row {
	byResource := map[string][]Row{}
	for _, row := range all {
		byResource[row.Resource] = append(byResource[row.Resource], row)
	}
	r.decisions = r.decisions[:0]
	var rows []Row
	for _, name := range r.resources {
		row, d := r.decideResource(r.entries[name], byResource[name])
		r.decisions = append(r.decisions, d)
		if !d.drop {
			rows = append(rows, row)
		}
	}
	return rows
}

func (r *round) decideResource(e entry, rows []Row) (Row, decision) {
	holders, own, backOff := r.holders(e, rows)
	result := decision{source: e.source, share: Share{Resource: e.Resource, Since: r.now, BackOff: backOff}}
	var part division
	if e.Limit > 0 {
		part = divide(e.Limit, holders, r.replica)
	} else {
		part.weights = replicaWeights(holders, r.replica)
	}
	free := e.Limit
	for _, h := range holders {
		if h.replica != r.replica {
			free -= h.counted()
		}
	}
	most := max(0, free, own.amount) // a replica that keeps its amount does not raise the sum
	amount := min(part.target, most)
	if e.giveUp {
		amount = 0
	}
	result.share.Amount, result.share.Weights = amount, part.weights
	e.Used = e.source.Lower(e.Resource, amount)
	r.entries[e.Resource] = e
	row := Row{Resource: e.Resource, Replica: r.replica, Amount: max(amount, min(e.Used, most))}
	row.Demand = newReport(e.Demand, math.Round(part.credit*1000)/1000).encode()
	result.share.Scarce = e.Limit > 0 && free <= row.Amount
	result.behind = !e.giveUp && part.target > amount && own.need() > amount
	result.drop = e.giveUp && e.Used == 0
	return row, result
}

// holders returns the rows that count, including that of this replica, and the longest back-off of the other replicas.
func (r *round) holders(e entry, rows []Row) (holders []holder, own holder, backOff time.Duration) {
	counts := countsFor
	if e.PerMinute {
		counts = countsForMinute
	}
	othersCount := counts
	if r.recovering {
		othersCount = keptFor
	}
	own = holder{replica: r.replica}
	for _, row := range rows {
		h := holder{replica: row.Replica, amount: row.Amount, age: row.Age}
		if err := json.Unmarshal(row.Demand, &h.report); err != nil {
			h.report = report{} // of another release: its amount still counts
		}
		switch {
		case row.Replica != r.replica && row.Age < othersCount:
			holders = append(holders, h)
			backOff = max(backOff, time.Duration(h.BackOffMS)*time.Millisecond-row.Age)
		case row.Replica == r.replica && row.Age < counts:
			own = h
		}
	}
	own.report = newReport(e.Demand, own.Credit)
	if e.giveUp {
		own.Needs = nil
	}
	return append(holders, own), own, backOff
}

// inFlight reports whether calls are in flight. The use of the last minute does not matter: the row counts for a
// minute.
func (r *round) inFlight() bool {
	for _, e := range r.entries {
		if !e.PerMinute && e.Used > 0 {
			return true
		}
	}
	return false
}
