// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// drawToolName draws from few names, so that they collide with each other, with control tools and with roles.
func drawToolName(t *rapid.T, label string) string {
	return rapid.SampledFrom(append([]string{"read", "bash", "Help", "Search"}, controlNames...)).Draw(t, label)
}

// drawClashingConfig draws an agent whose tool servers and roles use the same names.
func drawClashingConfig(t *rapid.T) Config {
	c := drawConfig(t)
	c.Tools, c.Delegates = nil, nil
	for range rapid.IntRange(0, 4).Draw(t, "tools") {
		c.Tools = append(c.Tools, Tool{Name: drawToolName(t, "tool"), ReadOnly: rapid.Bool().Draw(t, "read-only"), BuiltIn: rapid.Bool().Draw(t, "built-in")})
	}
	for range rapid.IntRange(0, 3).Draw(t, "delegates") {
		d := Delegate{Name: rapid.SampledFrom([]string{"helper", "general"}).Draw(t, "delegate")}
		if rapid.Bool().Draw(t, "as tool") {
			d.AsTool = &AsTool{Name: drawToolName(t, "role tool")}
		}
		c.Delegates = append(c.Delegates, d)
	}
	return c
}

func TestOfferedToolsAreAccepted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawClashingConfig(t)
		var offered []string
		for _, tool := range Tools(c) {
			if slices.Contains(offered, tool.Name) {
				t.Fatalf("%s is offered twice", tool.Name)
			}
			offered = append(offered, tool.Name)
		}
		for _, name := range append([]string{"read", "bash", "Help", "Search", "nonsense"}, controlNames...) {
			want := slices.Contains(offered, name)
			if got := c.Offers(name); got != want {
				t.Errorf("Offers(%s) = %v, and Tools lists it: %v", name, got, want)
			}
			if got := accepts(c, name); got != want {
				t.Errorf("a call of %s is accepted: %v, and Tools lists it: %v", name, got, want)
			}
			if _, got := c.SchemaOf(name); got != (want && (!slices.Contains(controlNames, name) || name == ToolSubmit && len(c.OutputSchema) > 0)) {
				t.Errorf("SchemaOf(%s) finds a schema: %v, and Tools lists it: %v", name, got, want)
			}
		}
	})
}

// accepts reports whether a call in a model's reply counts as a call of a tool that the agent has.
func accepts(c Config, name string) bool {
	call := ToolCall{ID: "c1", Tool: name, Arguments: "{}"}
	if _, ok := c.submission(ToolCall{ID: "c1", Tool: name, Arguments: `{"result":"x","error":"x"}`}); ok {
		return true
	}
	_, planned := planCall(State{Config: c}, BatchCall{ToolCall: call}, nil)
	return !strings.HasPrefix(planned.Answer, "There is no tool ")
}
