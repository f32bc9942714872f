// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package cron

import (
	"testing"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

func TestDescribe(t *testing.T) {
	t.Parallel()
	for cron, want := range map[string]string{
		"0 7 * * 1-5":         "Monday to Friday at 07:00 (UTC)",
		"@daily":              "Every day at 00:00 (UTC)",
		"@yearly":             "On day 1 of the month at 00:00 in January (UTC)",
		"*/15 * * * *":        "Every day every 15 minutes (UTC)",
		"* * * * *":           "Every day every minute (UTC)",
		"30 */4 * * *":        "Every day at minute 30 of every 4 hours (UTC)",
		"5 * * * *":           "Every day at minute 5 of every hour (UTC)",
		"0,30 9-17 * * MON":   "Monday at minutes 0 and 30 of hours 9 to 17 (UTC)",
		"0 12 1,15 * *":       "On days 1 and 15 of the month at 12:00 (UTC)",
		"0 0 13 * 5":          "On day 13 of the month or Friday at 00:00 (UTC)",
		"0 0 */2 JAN,mar 0,7": "On every 2 days of the month or Sunday and Sunday at 00:00 in January and March (UTC)",
		"10-20/5 8 * * *":     "Every day at minutes 10-20/5 of hours 8 (UTC)",
	} {
		if got := Describe(v1beta1.TriggerSchedule{Cron: cron}); got != want {
			t.Errorf("%s: %q, want %q", cron, got, want)
		}
	}
	if got := Describe(v1beta1.TriggerSchedule{Cron: "0 7 * * *", TimeZone: "Europe/Berlin"}); got != "Every day at 07:00 (Europe/Berlin)" {
		t.Errorf("with a time zone: %q", got)
	}
}
