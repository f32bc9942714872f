// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package tool

import (
	"encoding/json"
	"sync"
)

const (
	// maxSchemaBytes is the largest schema that a Checker compiles.
	maxSchemaBytes = 256 << 10
	// maxCachedSchemas bounds the number of compiled schemas that a Checker caches.
	maxCachedSchemas = 1024
)

// Checker checks arguments against schemas before an approval is requested or a tool runs. It compiles each schema
// once. The zero Checker is ready to use and safe for concurrent use.
type Checker struct {
	mu       sync.Mutex
	compiled map[string]*schema // nil for an unusable schema
}

// Violations returns a line for each violation of the schema. A schema that is too large or malformed allows every
// object; the tool then checks the arguments itself.
func (c *Checker) Violations(parameters, arguments json.RawMessage) []string {
	object, err := decodeArguments(arguments)
	if err != nil {
		return []string{err.Error()}
	}
	return c.check(parameters, object)
}

// Problem describes, for the model, what is wrong with the arguments of a call. It returns "" if they are valid.
func (c *Checker) Problem(name string, parameters, arguments json.RawMessage) string {
	spec := Spec{Name: name, Parameters: parameters}
	object, err := decodeArguments(arguments)
	if err != nil {
		return unreadableArguments(spec, err).output.Text
	}
	if lines := c.check(parameters, object); len(lines) > 0 {
		return invalidArguments(spec, lines).output.Text
	}
	return ""
}

func (c *Checker) check(parameters json.RawMessage, object map[string]any) (lines []string) {
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
	if len(parameters) == 0 || len(parameters) > maxSchemaBytes {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if known, ok := c.compiled[string(parameters)]; ok {
		return known
	}
	compiled, _, err := compileSchema(parameters)
	if err != nil {
		compiled = nil
	}
	if c.compiled == nil || len(c.compiled) >= maxCachedSchemas {
		c.compiled = map[string]*schema{}
	}
	c.compiled[string(parameters)] = compiled
	return compiled
}
