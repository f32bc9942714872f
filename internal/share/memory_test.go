// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package share_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nestor-dev/nestor/internal/share"
)

// memory is a table in memory. It fails as a database does.
type memory struct {
	lock  chan struct{} // a mutex under which fake time advances
	rows  []share.Row
	wrote []time.Time
	count int
	// deciding is the replica of the current transaction.
	deciding string
	// hook may delay or fail a transaction before it decides, and before and after it is stored.
	hook func(at moment) error
}

type moment int

const (
	beforeDecision moment = iota
	beforeStore
	afterStore
)

func newMemory() *memory {
	return &memory{lock: make(chan struct{}, 1), hook: func(moment) error { return nil }}
}

func (m *memory) locked() (unlock func()) {
	m.lock <- struct{}{}
	return func() { <-m.lock }
}

// connection is the table of one replica, which fails while it is cut.
type connection struct {
	table share.Table
	cut   atomic.Bool
}

var errCut = errors.New("the database cannot be reached")

// UpdateShares implements share.Table.
func (c *connection) UpdateShares(ctx context.Context, replica string, resources []string, ttl time.Duration, decide func([]share.Row) []share.Row) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if c.cut.Load() {
		return errCut
	}
	return c.table.UpdateShares(ctx, replica, resources, ttl, decide)
}

// UpdateShares implements share.Table.
func (m *memory) UpdateShares(_ context.Context, replica string, resources []string, _ time.Duration, decide func([]share.Row) []share.Row) error {
	defer m.locked()()
	m.count++
	m.deciding, _, _ = strings.Cut(replica, "/")
	if err := m.hook(beforeDecision); err != nil {
		return err
	}
	next := decide(m.read(resources))
	if err := m.hook(beforeStore); err != nil {
		return err
	}
	for i := len(m.rows) - 1; i >= 0; i-- {
		if m.rows[i].Replica == replica && slices.Contains(resources, m.rows[i].Resource) {
			m.rows, m.wrote = slices.Delete(m.rows, i, i+1), slices.Delete(m.wrote, i, i+1)
		}
	}
	for _, row := range next {
		m.rows, m.wrote = append(m.rows, row), append(m.wrote, time.Now())
	}
	return m.hook(afterStore)
}

func (m *memory) read(resources []string) []share.Row {
	var all []share.Row
	for i, row := range m.rows {
		if slices.Contains(resources, row.Resource) {
			row.Age = time.Since(m.wrote[i])
			all = append(all, row)
		}
	}
	return all
}

func (m *memory) setHook(hook func(moment) error) {
	defer m.locked()()
	m.hook = hook
}

// transactions returns the number of transactions so far.
func (m *memory) transactions() int {
	defer m.locked()()
	return m.count
}

// amounts returns the sum of the amounts in the rows that are younger than age.
func (m *memory) amounts(resource string, age time.Duration) (sum int64) {
	defer m.locked()()
	for i, row := range m.rows {
		if row.Resource == resource && time.Since(m.wrote[i]) < age {
			sum += row.Amount
		}
	}
	return sum
}
