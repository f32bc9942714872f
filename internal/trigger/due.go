// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package trigger

import (
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/trigger/cron"
)

// Observe returns the status with the schedule that applies now. A schedule applies from the creation of the trigger,
// or from when it was changed; times before that do not fire. After a suspension, it also applies to the
// startingDeadlineSeconds before, if there are any.
func Observe(spec v1beta1.AgentTriggerSpec, status v1beta1.AgentTriggerStatus, created, now time.Time) v1beta1.AgentTriggerStatus {
	status = *status.DeepCopy()
	if spec.Schedule == nil {
		status.ObservedSchedule, status.ScheduleStartTime, status.NextScheduleTime = "", nil, nil
		return status
	}
	status.LastScheduleTime, status.ScheduleStartTime = credible(status.LastScheduleTime, now), credible(status.ScheduleStartTime, now)
	since := now
	if spec.Suspend {
		status.NextScheduleTime = nil
		if status.ObservedSchedule != "" || status.ScheduleStartTime == nil {
			status.ObservedSchedule, status.ScheduleStartTime = "", toTime(since)
		}
		return status
	}
	observed := strings.TrimSpace(spec.Schedule.Cron + " " + spec.Schedule.TimeZone)
	switch deadline := spec.Schedule.StartingDeadlineSeconds; {
	case status.ObservedSchedule == observed:
		return status
	case status.ScheduleStartTime == nil && status.ObservedGeneration == 0: // otherwise it had another source until now
		since = created
	case status.ObservedSchedule == "" && deadline != nil:
		since = now.Add(-time.Duration(*deadline) * time.Second)
	}
	if since.Before(created) {
		since = created
	}
	status.ObservedSchedule, status.ScheduleStartTime = observed, toTime(since)
	return status
}

// maxClockError is how far ahead of the clock a recorded time may be. A clock that was set back by less does not make a
// time fire twice.
const maxClockError = time.Hour

// credible returns a recorded time, or now if it was recorded while the clock was wrong: the schedule would be silent
// until that time.
func credible(recorded *metav1.Time, now time.Time) *metav1.Time {
	if recorded == nil || recorded.Sub(now) <= maxClockError {
		return recorded
	}
	return toTime(now)
}

func toTime(t time.Time) *metav1.Time {
	at := metav1.NewTime(t.Truncate(time.Second))
	return &at
}

// Due returns the firing of a schedule that is due, if there is one. The status must be observed. A time that is later
// than the deadline allows is due as well: PastDeadline reports it, and it is to be dropped.
func Due(schedule *cron.Schedule, status v1beta1.AgentTriggerStatus, now time.Time) (Firing, bool) {
	newest, older, ok := schedule.Newest(from(status), now)
	return Firing{ID: ScheduleID(newest), Time: newest, Missed: older}, ok
}

// PastDeadline returns why a time of a schedule must no longer fire, or "".
func PastDeadline(spec v1beta1.AgentTriggerSpec, f Firing, now time.Time) string {
	deadline := spec.Schedule.StartingDeadlineSeconds
	if deadline == nil || now.Sub(f.Time) <= time.Duration(*deadline)*time.Second {
		return ""
	}
	return fmt.Sprintf("The time %s was missed by more than startingDeadlineSeconds.", f.Time.UTC().Format(time.RFC3339))
}

// NextTime returns the next time of a schedule, or the zero time if there is none. It is after every time that fired
// before, even if the clock was set back.
func NextTime(schedule *cron.Schedule, status v1beta1.AgentTriggerStatus, now time.Time) time.Time {
	after := from(status)
	if now.After(after) {
		after = now
	}
	return schedule.Next(after)
}

// from returns the time after which times may fire.
func from(status v1beta1.AgentTriggerStatus) time.Time {
	var after time.Time
	if status.ScheduleStartTime != nil {
		after = status.ScheduleStartTime.Time
	}
	if last := status.LastScheduleTime; last != nil && last.After(after) {
		after = last.Time
	}
	return after
}
