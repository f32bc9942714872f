// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package share

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"
)

type Demand struct {
	// Resource is the name of the resource, the same on all replicas.
	Resource string
	// PerMinute reports that the limit bounds the use in any minute. Otherwise it bounds the use at any one time.
	PerMinute bool
	// Limit is the limit for the whole installation; 0 means none. Demands without a limit are reported to the other
	// replicas as well.
	Limit int64
	// Used is the amount in use, or the use of the last minute.
	Used int64
	// Unit is the size of the next piece of work, if it is not 1. It is at most the limit.
	Unit  int64
	Needs map[string]Need
	// BackOff is for how long this replica must start nothing, as the provider requested. It is passed to the others.
	BackOff time.Duration
}

type Need struct {
	// Amount is the sum of the amounts that the namespace uses and waits for.
	Amount int64
	// Weight decides which part of the namespace's amount a replica gets. 0 counts as 1.
	Weight int64
}

// active reports whether the replica uses or needs something.
func (d Demand) active() bool { return d.Used > 0 || len(d.Needs) > 0 || d.BackOff > 0 }

// maxNamespaces bounds the size of a report. The namespaces with the smallest needs are reported as one.
const maxNamespaces = 200

// report is the Demand of a row, as JSON.
type report struct {
	Used      int64               `json:"used,omitempty"`
	Unit      int64               `json:"unit,omitempty"`
	Credit    float64             `json:"credit,omitempty"`
	BackOffMS int64               `json:"backOffMS,omitempty"`
	Needs     map[string][2]int64 `json:"needs,omitempty"` // amount, weight
}

func (r report) encode() []byte {
	data, err := json.Marshal(r)
	if err != nil {
		panic(fmt.Sprintf("encode a report of numbers: %v", err)) // credit is finite
	}
	return data
}

func newReport(d Demand, credit float64) report {
	r := report{Used: d.Used, Unit: d.Unit, Credit: credit, BackOffMS: d.BackOff.Milliseconds(), Needs: make(map[string][2]int64, len(d.Needs))}
	names := slices.SortedFunc(maps.Keys(d.Needs), func(a, b string) int {
		return cmp.Or(cmp.Compare(d.Needs[b].Amount, d.Needs[a].Amount), cmp.Compare(a, b))
	})
	for i, name := range names {
		if i >= maxNamespaces {
			name = ""
		}
		sum := r.Needs[name]
		r.Needs[name] = [2]int64{sum[0] + d.Needs[names[i]].Amount, sum[1] + max(1, d.Needs[names[i]].Weight)}
	}
	return r
}
