// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package ledger

// DefaultLimit is the size of a page whose limit is 0, MaxLimit the maximum size.
const (
	DefaultLimit = 100
	MaxLimit     = 1000
)

// Page selects a part of a list. The zero value selects the first page.
type Page struct {
	// Limit is the maximum number of items; 0 means DefaultLimit, and more than MaxLimit means MaxLimit.
	Limit int
	// Cursor is the Next of the previous page; empty for the first page.
	Cursor string
}

// Size returns the effective limit of the page.
func (p Page) Size() int {
	if p.Limit <= 0 {
		return DefaultLimit
	}
	return min(p.Limit, MaxLimit)
}

type List[T any] struct {
	Items []T
	// Next is the cursor of the next page; empty on the last page.
	Next string
}
