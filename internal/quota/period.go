// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package quota

import "time"

// Period is a calendar period in UTC.
type Period string

// The periods, as named in the API.
const (
	Hour  Period = "Hour"
	Day   Period = "Day"
	Month Period = "Month"
)

func (p Period) Start(at time.Time) time.Time {
	at = at.UTC()
	switch p {
	case Day:
		return time.Date(at.Year(), at.Month(), at.Day(), 0, 0, 0, 0, time.UTC)
	case Month:
		return time.Date(at.Year(), at.Month(), 1, 0, 0, 0, 0, time.UTC)
	}
	return at.Truncate(time.Hour)
}

// End returns the end of the period that contains a time, which is the start of the next one.
func (p Period) End(at time.Time) time.Time {
	start := p.Start(at)
	switch p {
	case Day:
		return start.AddDate(0, 0, 1)
	case Month:
		return start.AddDate(0, 1, 0)
	}
	return start.Add(time.Hour)
}
