// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/trigger"
)

func TestBetweenMinutes(t *testing.T) {
	for now, want := range map[string]string{
		"10:00:00": "10:00:30", "10:00:30": "10:00:30", "10:00:31": "10:01:30", "23:59:59": "00:00:30",
	} {
		at, err := time.Parse(time.TimeOnly, now)
		if err != nil {
			t.Fatal(err)
		}
		if got := betweenMinutes(at).Format(time.TimeOnly); got != want {
			t.Errorf("after %s: %s, want %s", now, got, want)
		}
	}
}

func TestMeasuredTriggersFireEveryMinute(t *testing.T) {
	var trig v1beta1.AgentTrigger
	if err := json.Unmarshal(triggerBodies(2)[1], &trig); err != nil {
		t.Fatal(err)
	}
	program, err := trigger.Compile(trig.Spec)
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 11, 17, 10, 0, 30, 0, time.UTC)
	if next := program.Schedule.Next(at); next.Sub(at) != 30*time.Second {
		t.Errorf("after %s it fires at %s", at, next)
	}
	if !trig.Spec.Suspend || trig.Spec.ConcurrencyPolicy != v1beta1.ConcurrencyForbid || trig.Name != "trigger-1" {
		t.Errorf("the trigger is %+v", trig)
	}
}
