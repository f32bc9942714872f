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

// Spec describes a tool to models, approvers and the executor.
type Spec struct {
	// Name is unique within a set and matches [a-zA-Z0-9_-]{1,64}, which is what
	// model providers accept.
	Name string
	// Description explains to the model what the tool does and when to use it.
	Description string
	// Parameters is the JSON schema of the arguments, which are always an
	// object. Empty means no parameters.
	Parameters json.RawMessage
	// ReadOnly tools change nothing: they need no approval, run in parallel and may run again after a crash.
	ReadOnly bool
	// Idempotent tools may run again after a crash. They still need approval.
	Idempotent bool
	// Approval, if not empty, overrides whether a role requires approval for a tool that changes something.
	Approval Approval
	// Timeout limits one call; zero uses the executor's.
	Timeout time.Duration
	// Content describes the source of its outputs.
	Content Content
	// Added means that the server added the tool after its tools were pinned, and that the description is not accepted
	// yet.
	Added bool
	// SharedFiles tools read or write files that the agents of a tree share, so an output has the labels of all of
	// them.
	SharedFiles bool
}

// Content describes the source of an output. The zero value is content from outside.
type Content struct {
	// Trusted sources are exempt from the content label untrusted: they only compute, or their owner vouches for them.
	Trusted bool
	// Labels are further content labels.
	Labels []string
}

type Approval string

// The values of Approval. The zero value leaves it to the role.
const (
	// ApprovalRequired requires approval for every call, even if the role does not.
	ApprovalRequired Approval = "Required"
	// ApprovalNotRequired requires approval only if the role does so for every call or for this tool.
	ApprovalNotRequired Approval = "NotRequired"
)

// Repeatable reports whether the same call can safely run twice.
func (s Spec) Repeatable() bool { return s.ReadOnly || s.Idempotent }

// Func runs one call whose arguments match the schema. It must respect its context. An error means that the tool could
// not run; the model gets its text, which must suggest what to do and contain no secret. A failure that the tool
// describes is an Output with IsError.
type Func func(ctx context.Context, call Invocation) (Output, error)

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
	compiledSchema, parameters, err := compileSchema(spec.Parameters)
	if err != nil {
		return nil, fmt.Errorf("compile parameters of tool %s: %w", spec.Name, err)
	}
	spec.Parameters = parameters
	return &Tool{spec: spec, schema: compiledSchema, run: run}, nil
}

// Spec returns the tool's description. Its Parameters must not be changed.
func (t *Tool) Spec() Spec { return t.spec }

// Run runs the tool with arguments that match its schema.
func (t *Tool) Run(ctx context.Context, call Invocation) (Output, error) { return t.run(ctx, call) }

// SchemaParts returns the number of subschemas of its parameters.
func (t *Tool) SchemaParts() int { return len(t.schema.parts) }

func (t *Tool) Name() string { return t.spec.Name }

// WithContent returns the same tool with another source.
func (t *Tool) WithContent(content Content) *Tool {
	clone := *t
	clone.spec.Content = content
	return &clone
}

// AsAdded returns the same tool as one that was added after the tools of its server were pinned.
func (t *Tool) AsAdded() *Tool {
	clone := *t
	clone.spec.Added = true
	return &clone
}

// With returns the same tool with another function, so that its schema is compiled only once.
func (t *Tool) With(run Func) *Tool { return &Tool{spec: t.spec, schema: t.schema, run: run} }

// ErrOutcomeUnknown marks an error after which the tool may or may not have
// taken effect: the connection broke after the request was sent.
var ErrOutcomeUnknown = errors.New("the outcome is unknown")
