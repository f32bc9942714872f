// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"encoding/json"
	"slices"

	"github.com/nestor-dev/nestor/internal/agent/closedschema"
)

// This file implements isolated agents: they may read anything, because nothing but data of a closed schema leaves them. See inputs.go for
// what they read.

// The errors of isolated agents. Whatever happened, their parents get one of these texts.
const (
	textIsolatedFailed    = "The isolated agent ended without a result."
	textIsolatedCancelled = "The isolated agent was cancelled."
)

// Isolated returns what may leave an isolated agent: its data, or that it has none. The data cannot carry an instruction, so it is not
// untrusted. Other labels stay.
func (o Outcome) Isolated() Outcome {
	reduced := Outcome{Labels: slices.DeleteFunc(slices.Clone(o.Labels), func(name string) bool { return name == LabelUntrusted })}
	switch {
	case o.Succeeded() && o.Result != nil && len(o.Result.Data) > 0:
		reduced.Result = &Result{Data: o.Result.Data}
	case o.Kind == ErrorCancelled:
		reduced.Kind, reduced.Error = ErrorCancelled, textIsolatedCancelled
	default:
		reduced.Kind, reduced.Error = ErrorSubAgent, textIsolatedFailed
	}
	return reduced
}

// isolates reports whether agents with a role that the agent may delegate to are isolated.
func (c Config) isolates(role string) bool { return slices.Contains(c.isolatedNames(), role) }

// isolatedNames returns the isolated roles that the agent may delegate to.
func (c Config) isolatedNames() []string {
	var names []string
	for _, d := range c.Delegates {
		if d.Isolated {
			names = append(names, d.Name)
		}
	}
	return names
}

// closedData returns the data of an isolated agent in its only encoding. It reports false if the schema does not allow it.
func (c Config) closedData(data json.RawMessage) (json.RawMessage, bool) {
	schema, err := closedschema.Parse(c.OutputSchema)
	if err != nil {
		return nil, false
	}
	plain, err := schema.Canonical(data)
	return plain, err == nil
}
