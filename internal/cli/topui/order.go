// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package topui

import (
	"cmp"
	"slices"
	"strings"
)

// order is how the runs are sorted.
type order struct {
	name    string
	compare func(a, b row) int
}

// orders lists the orders in the sequence of the key. The first keeps that of view.Run.
var orders = []order{
	{name: "what waits first", compare: func(row, row) int { return 0 }},
	{name: "tokens", compare: func(a, b row) int { return cmp.Compare(b.tokens, a.tokens) }},
	{name: "cost", compare: func(a, b row) int { return cmp.Compare(b.costOrNone(), a.costOrNone()) }},
	{name: "age", compare: func(a, b row) int { return b.since.Compare(a.since) }},
	{name: "name", compare: func(a, b row) int {
		return cmp.Or(cmp.Compare(a.namespace, b.namespace), cmp.Compare(a.name, b.name))
	}},
}

// costOrNone returns the cost, with an unknown one below zero.
func (r row) costOrNone() int64 {
	if r.cost == nil {
		return -1
	}
	return *r.cost
}

// matches reports whether a column of the row contains a text.
func (r row) matches(text string) bool {
	text = strings.ToLower(text)
	return slices.ContainsFunc([]string{r.namespace, r.name, r.role, r.phase, r.note}, func(column string) bool {
		return strings.Contains(strings.ToLower(column), text)
	})
}

// arranged returns the runs that match the filter, in the chosen order.
func (m Model) arranged() []row {
	rows := slices.DeleteFunc(slices.Clone(m.runs), func(r row) bool { return m.filter != "" && !r.matches(m.filter) })
	slices.SortStableFunc(rows, orders[m.order].compare)
	return rows
}
