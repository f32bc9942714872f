// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package tool

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"sync"
)

// maxCachedParts bounds the subschemas of the compiled schemas that a Checker caches.
const maxCachedParts = 32_000

// Checker checks arguments against schemas before an approval is requested or a tool runs. It compiles each schema
// once. The zero Checker is ready to use and safe for concurrent use.
type Checker struct {
	mu     sync.Mutex
	cached map[[sha256.Size]byte]compilation
	parts  int // of all cached schemas
}

// compilation is a compiled schema, or why it cannot be used.
type compilation struct {
	schema *schema
	err    error
}

// Violations returns a line for each violation of the schema. A malformed schema allows every object, because the tool
// checks the arguments too; one that is too complex allows nothing. An error means that ctx has ended.
func (c *Checker) Violations(ctx context.Context, parameters, arguments json.RawMessage) ([]string, error) {
	object, err := decodeArguments(arguments)
	if err != nil {
		return []string{err.Error()}, nil //nolint:nilerr // it is for the author of the arguments
	}
	return c.check(ctx, parameters, object)
}

// Problem explains to the model why the arguments of a call are rejected. It returns "" if they are valid.
func (c *Checker) Problem(ctx context.Context, name string, parameters, arguments json.RawMessage) (string, error) {
	spec := Spec{Name: name, Parameters: parameters}
	object, err := decodeArguments(arguments)
	if err != nil {
		return unreadableArguments(spec, err).output.Text, nil
	}
	lines, err := c.check(ctx, parameters, object)
	if err != nil || len(lines) == 0 {
		return "", err
	}
	return invalidArguments(spec, lines).output.Text, nil
}

func (c *Checker) check(ctx context.Context, parameters json.RawMessage, object map[string]any) ([]string, error) {
	if len(parameters) == 0 {
		return nil, nil
	}
	compiled := c.compile(parameters)
	switch {
	case errors.Is(compiled.err, errTooComplex):
		return []string{compiled.err.Error()}, nil
	case compiled.err != nil:
		return nil, nil //nolint:nilerr // a malformed schema is left to the tool
	}
	return compiled.schema.check(ctx, object)
}

func (c *Checker) compile(parameters json.RawMessage) compilation {
	key := sha256.Sum256(parameters)
	c.mu.Lock()
	schema, ok := c.cached[key]
	c.mu.Unlock()
	if ok {
		return schema
	}
	compiled, _, err := compileSchema(parameters)
	size := 1
	if compiled != nil {
		size += len(compiled.parts)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cached == nil || c.parts+size > maxCachedParts {
		c.cached, c.parts = map[[sha256.Size]byte]compilation{}, 0
	}
	c.cached[key] = compilation{compiled, err}
	c.parts += size
	return c.cached[key]
}
