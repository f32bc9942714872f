// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"time"
)

// Spec is what models, approvers and the executor know of a tool.
type Spec struct {
	// Name is unique within a set and matches [a-zA-Z0-9_-]{1,64}, which is what
	// model providers accept.
	Name string
	// Description tells the model what the tool does and when to use it.
	Description string
	// Parameters is the JSON schema of the arguments, which are always an
	// object. Empty means no parameters.
	Parameters json.RawMessage
	// ReadOnly tools change nothing: they need no approval, run in parallel and
	// may be run again after a crash.
	ReadOnly bool
	// Idempotent tools may be run again after a crash. It never lifts approval.
	Idempotent bool
	// Timeout limits one call; zero leaves it to the executor.
	Timeout time.Duration
}

// Repeatable reports whether a second run of the same call does no harm.
func (s Spec) Repeatable() bool { return s.ReadOnly || s.Idempotent }

// Func performs one call whose arguments fit the schema. It obeys its context. An
// error is a failure to run, and its text goes to the model: it must say what to
// do and hold no secret. A failure that the tool itself describes is an Output
// with IsError.
type Func func(ctx context.Context, call Call) (Output, error)

// Tool is something a model can call. It is immutable and safe to share.
type Tool struct {
	spec   Spec
	schema *schema
	run    Func
}

var validName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// New checks spec, compiles its schema and binds it to run.
func New(spec Spec, run Func) (*Tool, error) {
	if !validName.MatchString(spec.Name) {
		return nil, fmt.Errorf("tool name %q must be 1 to 64 letters, digits, '_' or '-'", spec.Name)
	}
	if run == nil {
		return nil, fmt.Errorf("tool %s has no function to run", spec.Name)
	}
	if spec.Timeout < 0 {
		return nil, fmt.Errorf("tool %s has a negative timeout %s", spec.Name, spec.Timeout)
	}
	if len(spec.Parameters) == 0 {
		spec.Parameters = json.RawMessage(`{}`)
	}
	compiled, normal, err := compileSchema(spec.Parameters)
	if err != nil {
		return nil, fmt.Errorf("compile parameters of tool %s: %w", spec.Name, err)
	}
	spec.Parameters = normal
	return &Tool{spec: spec, schema: compiled, run: run}, nil
}

// Spec returns what is known of the tool. Its Parameters must not be changed.
func (t *Tool) Spec() Spec { return t.spec }

// Name returns the tool's name.
func (t *Tool) Name() string { return t.spec.Name }

// With returns the same tool with another function, so that its schema is
// compiled once for all the places that it may run in.
func (t *Tool) With(run Func) *Tool { return &Tool{spec: t.spec, schema: t.schema, run: run} }

// ErrOutcomeUnknown marks an error after which the tool may or may not have
// taken effect: the connection broke after the request was sent.
var ErrOutcomeUnknown = errors.New("the outcome is unknown")

// Check says what is wrong with a spec, without making a tool of it.
func Check(spec Spec) error {
	_, err := New(spec, func(context.Context, Call) (Output, error) { return Output{}, nil })
	return err
}
