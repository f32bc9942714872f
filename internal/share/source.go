// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package share

import "time"

const (
	// ValidFor is how long a replica may start work after the transaction began in which it got its share. Starting a
	// model call needs the ledger anyway, so a replica without the ledger loses nothing.
	ValidFor = 5 * time.Second
	// countsFor is how long the amount of a row counts after its last change. Work that takes no longer than the
	// difference to ValidFor has ended by then.
	countsFor = 10 * time.Second
	// countsForMinute is the same for a limit per minute. The last use is at the end of ValidFor, and leaves the window a
	// minute later; one more second allows for clocks of different speed.
	countsForMinute = ValidFor + time.Minute + time.Second
	// keptFor is how long a row stays readable.
	keptFor = countsForMinute + 4*time.Second
)

// Source is the work that a limit applies to. Its methods are called by one goroutine and must not block.
type Source interface {
	// Demands returns the resources of which the source uses or needs something or has a share.
	Demands() []Demand
	// Lower lowers the share of a resource to at most amount, and returns what is in use. The source starts nothing while
	// it uses its share or more.
	Lower(resource string, amount int64) (used int64)
	Apply(shares []Share)
}

// Share is the part of a resource that a replica may use.
type Share struct {
	Resource string
	Amount   int64
	// Since is when the share began to be valid; see Expired.
	Since time.Time
	// Scarce reports that other replicas hold the rest of the limit, so that a larger amount cannot be expected now.
	Scarce bool
	// Weights are the fractions of the namespaces' amounts that this replica should serve. A missing one counts as 1.
	Weights map[string]float64
	// BackOff is for how long the provider requested that other replicas start nothing.
	BackOff time.Duration
}

// Expired reports whether a share that began at a time must no longer be used.
func Expired(since, now time.Time) bool {
	// The monotonic clock does not advance while a machine is suspended.
	return max(now.Sub(since), now.Round(0).Sub(since.Round(0))) >= ValidFor
}

// Notifier receives changes that need a transaction soon. It is nil if there is one replica. The methods return
// immediately.
type Notifier interface {
	// Short is called when work waits for a larger share of a resource.
	Short(resource string)
	// Freed is called when a source that uses more than its share uses less than before, or has to report a back-off.
	Freed(resource string)
	// Started is called when work starts without a share, because the resource has no limit.
	Started()
}
