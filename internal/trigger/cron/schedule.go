// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package cron computes the times of trigger schedules, and describes them in words. It is separate so that clients do
// not link the expressions of triggers.
package cron

import (
	"fmt"
	"strings"
	"time"
	_ "time/tzdata" // the operator's image has no time zones

	robfig "github.com/robfig/cron/v3"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

const (
	// maxCounted bounds how many missed times are counted one by one.
	maxCounted = 1000
	// firstWindow is where the search for the newest time before a time begins.
	firstWindow = time.Hour
	cronField   = "spec.schedule.cron"
)

// FieldError is the error of a field that does not contain an expression.
type FieldError struct{ Field, Problem string }

func (e *FieldError) Error() string { return e.Field + ": " + e.Problem }

type Schedule struct {
	schedule robfig.Schedule
	location *time.Location
}

// Parse returns a *FieldError for a schedule that cannot be used.
func Parse(spec v1beta1.TriggerSchedule) (*Schedule, error) {
	location := time.UTC
	if spec.TimeZone != "" {
		var err error
		if location, err = time.LoadLocation(spec.TimeZone); err != nil {
			return nil, &FieldError{Field: "spec.schedule.timeZone", Problem: fmt.Sprintf("%q is not a known time zone", spec.TimeZone)}
		}
	}
	if strings.Contains(spec.Cron, "=") { // the parser panics at some prefixes with a time zone
		return nil, &FieldError{Field: cronField, Problem: "the time zone goes into timeZone"}
	}
	schedule, err := robfig.ParseStandard(spec.Cron)
	if err != nil {
		return nil, &FieldError{Field: cronField, Problem: err.Error()}
	}
	s := &Schedule{schedule: schedule, location: location}
	if s.Next(time.Date(2000, time.January, 1, 0, 0, 0, 0, time.UTC)).IsZero() {
		return nil, &FieldError{Field: cronField, Problem: fmt.Sprintf("%q has no time: the day does not exist", spec.Cron)}
	}
	return s, nil
}

// Next returns the first time after t, or the zero time if there is none within five years.
func (s *Schedule) Next(t time.Time) time.Time {
	next := s.schedule.Next(t.In(s.location))
	if next.IsZero() {
		return next
	}
	return next.UTC()
}

// Newest returns the last time of the schedule between after and now, and how many times precede it there, up to a
// bound. It reports false if there is none.
func (s *Schedule) Newest(after, now time.Time) (newest time.Time, older int64, ok bool) {
	first := s.Next(after)
	if first.IsZero() || first.After(now) {
		return time.Time{}, 0, false
	}
	// Begin close to now: after a long time, stepping through all minutes would take seconds.
	newest = first
	for window := firstWindow; window > 0; window *= 2 {
		from := now.Add(-window)
		if !from.After(first) {
			break
		}
		if t := s.Next(from); !t.IsZero() && !t.After(now) {
			newest = t
			break
		}
	}
	for t := s.Next(newest); !t.IsZero() && !t.After(now); t = s.Next(t) {
		newest = t
	}
	for t := first; t.Before(newest) && older < maxCounted; t = s.Next(t) {
		older++
	}
	return newest, older, true
}
