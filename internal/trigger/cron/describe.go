// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package cron

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

var macros = map[string]string{
	"@hourly": "0 * * * *", "@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@weekly": "0 0 * * 0", "@monthly": "0 0 1 * *",
	"@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *",
}

// Describe returns a schedule in words: "Monday to Friday at 07:00 (Europe/Berlin)". The schedule must be valid.
func Describe(spec v1beta1.TriggerSchedule) string {
	cron := spec.Cron
	if expanded, ok := macros[cron]; ok {
		cron = expanded
	}
	fields := strings.Fields(cron)
	if len(fields) != 5 {
		return cron
	}
	words := days(fields[2], fields[4]) + " " + times(fields[0], fields[1])
	if !every(fields[3]) {
		words += " in " + list(fields[3], monthName)
	}
	return fmt.Sprintf("%s (%s)", words, cmp.Or(spec.TimeZone, "UTC"))
}

func every(field string) bool { return field == "*" || field == "?" }

// times describes the fields minute and hour.
func times(minute, hour string) string {
	at, single := number(minute)
	h, singleHour := number(hour)
	step, stepped := strings.CutPrefix(minute, "*/")
	hourStep, hourStepped := strings.CutPrefix(hour, "*/")
	switch {
	case single && singleHour:
		return fmt.Sprintf("at %02d:%02d", h, at)
	case single && every(hour):
		return fmt.Sprintf("at minute %d of every hour", at)
	case single && hourStepped:
		return fmt.Sprintf("at minute %d of every %s hours", at, hourStep)
	}
	words := "at minutes " + list(minute, plain)
	switch {
	case every(minute):
		words = "every minute"
	case stepped:
		words = fmt.Sprintf("every %s minutes", step)
	case single:
		words = fmt.Sprintf("at minute %d", at)
	}
	switch {
	case every(hour):
		return words
	case hourStepped:
		return words + " in every " + hourStep + " hours"
	}
	return words + " of hours " + list(hour, plain)
}

// days describes the fields day of the month and day of the week. If both are restricted, either is enough.
func days(month, week string) string {
	byMonth, byWeek := "on days "+list(month, plain)+" of the month", list(week, dayName)
	if _, single := number(month); single {
		byMonth = "on day " + month + " of the month"
	}
	if step, ok := strings.CutPrefix(month, "*/"); ok {
		byMonth = "on every " + step + " days of the month"
	}
	switch {
	case every(month) && every(week):
		return "Every day"
	case every(month):
		return upperFirst(byWeek)
	case every(week):
		return upperFirst(byMonth)
	}
	return upperFirst(byMonth + " or " + byWeek)
}

var span = regexp.MustCompile(`^([^-/]+)-([^-/]+)$`)

// list describes a field of values and ranges; name names a value.
func list(field string, name func(string) string) string {
	var parts []string
	for _, part := range strings.Split(field, ",") {
		if ends := span.FindStringSubmatch(part); ends != nil {
			part = name(ends[1]) + " to " + name(ends[2])
		} else {
			part = name(part)
		}
		parts = append(parts, part)
	}
	if last := len(parts) - 1; last > 0 {
		return strings.Join(parts[:last], ", ") + " and " + parts[last]
	}
	return parts[0]
}

func plain(value string) string { return value }

func dayName(value string) string {
	if n, ok := number(value); ok {
		return time.Weekday(n % 7).String()
	}
	for day := range time.Weekday(7) {
		if strings.EqualFold(day.String()[:3], value) {
			return day.String()
		}
	}
	return value
}

func monthName(value string) string {
	if n, ok := number(value); ok {
		return time.Month(n).String()
	}
	for month := time.January; month <= time.December; month++ {
		if strings.EqualFold(month.String()[:3], value) {
			return month.String()
		}
	}
	return value
}

func number(value string) (int, bool) {
	n, err := strconv.Atoi(value)
	return n, err == nil
}

func upperFirst(text string) string { return strings.ToUpper(text[:1]) + text[1:] }
