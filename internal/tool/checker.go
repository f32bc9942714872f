// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package tool

import (
	"encoding/json"
	"sync"
)

const (
	// maxCheckedSchema is the largest schema that a Checker compiles.
	maxCheckedSchema = 256 << 10
	// maxKeptSchemas bounds the number of compiled schemas that a Checker caches.
	maxKeptSchemas = 1024
)

// Checker checks arguments against schemas before an approval is requested or a tool runs. It compiles each schema
// once. The zero Checker is ready to use and safe for concurrent use.
type Checker struct {
	mu   sync.Mutex
	kept map[string]*schema // nil for an unusable schema
}

// Violations returns a line for each violation of the schema. A schema that is too large or malformed allows every
// object; the tool then checks the arguments itself.
func (c *Checker) Violations(parameters, arguments json.RawMessage) []string {
	object, err := decodeArguments(arguments)
	if err != nil {
		return []string{err.Error()}
	}
	return c.fit(parameters, object)
}

// Problem describes, for the model, what is wrong with the arguments of a call. It returns "" if they are valid.
func (c *Checker) Problem(name string, parameters, arguments json.RawMessage) string {
	spec := Spec{Name: name, Parameters: parameters}
	object, err := decodeArguments(arguments)
	if err != nil {
		return unreadable(spec, err).output.Text
	}
	if lines := c.fit(parameters, object); len(lines) > 0 {
		return unfit(spec, lines).output.Text
	}
	return ""
}

func (c *Checker) fit(parameters json.RawMessage, object map[string]any) (lines []string) {
	defer func() {
		if recover() != nil {
			lines = nil // the library panicked on the schema: leave the check to the tool
		}
	}()
	if compiled := c.compile(parameters); compiled != nil {
		return compiled.check(object)
	}
	return nil
}

func (c *Checker) compile(parameters json.RawMessage) *schema {
	if len(parameters) == 0 || len(parameters) > maxCheckedSchema {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if known, ok := c.kept[string(parameters)]; ok {
		return known
	}
	compiled, _, err := compileSchema(parameters)
	if err != nil {
		compiled = nil
	}
	if c.kept == nil || len(c.kept) >= maxKeptSchemas {
		c.kept = map[string]*schema{}
	}
	c.kept[string(parameters)] = compiled
	return compiled
}
