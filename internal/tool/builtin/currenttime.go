// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package builtin

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
	_ "time/tzdata" // minimal images have no time zone database

	"github.com/nestor-dev/nestor/internal/tool"
)

func currentTime(now func() time.Time) definition {
	return define(tool.Spec{
		Name:        CurrentTime,
		Description: "Returns the current date and time. You have no other source for it: use it whenever an answer depends on today, on age or on a deadline.",
		Parameters: json.RawMessage(`{
			"type": "object",
			"additionalProperties": false,
			"properties": {
				"timezone": {"type": "string", "minLength": 1, "maxLength": 64, "description": "IANA time zone such as Europe/Berlin; UTC if absent"}
			}
		}`),
	}, func(_ context.Context, _ tool.Invocation, a struct{ Timezone string }) (tool.Output, error) {
		zone, ok := loadZone(a.Timezone)
		if !ok {
			return refused("There is no time zone %q. Use an IANA name such as UTC, Europe/Berlin or America/New_York.", a.Timezone), nil
		}
		t := now().In(zone)
		text := fmt.Sprintf("%s (%s, %s)", t.Format("Monday, 2 January 2006, 15:04:05"), zone, t.Format(time.RFC3339))
		return structured(text, struct {
			Time     string `json:"time"`
			Timezone string `json:"timezone"`
			Weekday  string `json:"weekday"`
			Unix     int64  `json:"unix"`
		}{t.Format(time.RFC3339), zone.String(), t.Weekday().String(), t.Unix()})
	})
}

// loadZone returns a time zone. "Local" is rejected: it would be the operator's zone, not the user's.
func loadZone(name string) (*time.Location, bool) {
	zone, err := time.LoadLocation(name)
	return zone, err == nil && name != "Local"
}
