// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/nestor-dev/nestor/api/history/v1beta1"
	"github.com/nestor-dev/nestor/internal/quota"
)

// period divides usage by time. The zero value does not.
type period struct {
	name api.UsagePeriod
	// layout is the first part of the names of its usages, as a layout of package time.
	layout string
	// every is the length of the intervals in which the ledger sums. Months consist of days.
	every time.Duration
}

var periods = []period{
	{api.UsageHour, "2006-01-02t15", time.Hour},
	{api.UsageDay, time.DateOnly, 24 * time.Hour},
	{api.UsageMonth, "2006-01", 24 * time.Hour},
}

// parsePeriod returns the period of a list; the zero period if the name is empty.
func parsePeriod(name string) (period, error) {
	if name == "" {
		return period{}, nil
	}
	for _, p := range periods {
		if string(p.name) == name {
			return p, nil
		}
	}
	return period{}, apierrors.NewBadRequest(fmt.Sprintf("field selector %s=%s: there are Hour, Day and Month", api.FieldUsagePeriod, name))
}

// cutPeriod splits the name of a usage into the period that it begins with, the start of that, and the rest.
func cutPeriod(name string) (found period, start time.Time, rest string) {
	first, rest, _ := strings.Cut(name, ".")
	for _, p := range periods {
		if at, err := time.Parse(p.layout, first); err == nil {
			return p, at, rest
		}
	}
	return period{}, time.Time{}, name
}

// start returns the start of the period that contains a time; zero for the zero period.
func (p period) start(at time.Time) time.Time {
	if p.name == "" {
		return time.Time{}
	}
	return quota.Period(p.name).Start(at)
}

// mark sets the period of a usage, and its name.
func (p period) mark(usage *api.Usage, start time.Time) {
	if p.name == "" {
		return
	}
	at := metav1.NewTime(start)
	usage.Period, usage.StartTime = p.name, &at
	usage.Name = start.Format(p.layout) + "." + usage.Name
}
