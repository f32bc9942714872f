// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	"encoding/json"
	"strconv"
)

// The schema of a field that is a number or a string has no type; hack/temperature.awk writes it.

// Temperature is a sampling temperature: a number from 0 to 2. A string with such a number is accepted as well.
// +kubebuilder:validation:Type=number
// +kubebuilder:validation:Minimum=0
// +kubebuilder:validation:Maximum=2
type Temperature string

// Float returns the temperature as a number. It reports false if there is none.
func (t Temperature) Float() (float64, bool) {
	value, err := strconv.ParseFloat(string(t), 64)
	return value, err == nil
}

// MarshalJSON writes the temperature as a number, or as the string that it is if it is none.
func (t Temperature) MarshalJSON() ([]byte, error) {
	if value, ok := t.Float(); ok {
		return json.Marshal(value)
	}
	return json.Marshal(string(t))
}

// UnmarshalJSON reads a number, or a string with a number in it. It accepts any other string, too, and leaves the judgement to the API
// server: an object that cannot be decoded would stop the controllers of all others.
func (t *Temperature) UnmarshalJSON(data []byte) error {
	var text string
	if err := json.Unmarshal(data, &text); err == nil {
		*t = Temperature(text)
		return nil
	}
	*t = ""
	var number json.Number
	if json.Unmarshal(data, &number) == nil {
		*t = Temperature(number)
	}
	return nil
}
