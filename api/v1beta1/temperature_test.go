// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package v1beta1_test

import (
	"encoding/json"
	"testing"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

func TestTemperatureNumberOrString(t *testing.T) {
	for given, want := range map[string]struct {
		written string
		value   float64
		set     bool
	}{
		`{"temperature":0.2}`:     {`{"temperature":0.2}`, 0.2, true},
		`{"temperature":"0.2"}`:   {`{"temperature":0.2}`, 0.2, true},
		`{"temperature":0}`:       {`{"temperature":0}`, 0, true},
		`{"temperature":"2.000"}`: {`{"temperature":2}`, 2, true},
		`{"temperature":2e-1}`:    {`{"temperature":0.2}`, 0.2, true},
		`{}`:                      {`{}`, 0, false},
		// The API server refuses these; a controller that reads one must be able to continue.
		`{"temperature":"warm"}`: {`{"temperature":"warm"}`, 0, false},
		`{"temperature":true}`:   {`{}`, 0, false},
		`{"temperature":[1]}`:    {`{}`, 0, false},
	} {
		var spec v1beta1.AgentRoleSpec
		if err := json.Unmarshal([]byte(given), &spec); err != nil {
			t.Errorf("%s: %v", given, err)
			continue
		}
		if value, set := spec.Temperature.Float(); value != want.value || set != want.set {
			t.Errorf("%s is %v, %t, want %v, %t", given, value, set, want.value, want.set)
		}
		if written, err := json.Marshal(spec); err != nil || string(written) != want.written {
			t.Errorf("%s is written as %s (%v), want %s", given, written, err, want.written)
		}
	}
}
