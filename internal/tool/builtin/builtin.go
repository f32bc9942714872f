// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package builtin

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"time"

	"github.com/nestor-dev/nestor/internal/tool"
)

// Names of the built-in tools. A role without a list of tools may use all of them.
const (
	Calculator  = "calculator"
	Think       = "think"
	CurrentTime = "current_time"
	WebSearch   = "web_search"
	ReadResult  = tool.ReadResult
)

// Names returns the names of all built-in tools, configured or not.
func Names() []string {
	return []string{Calculator, CurrentTime, ReadResult, Think, WebSearch}
}

type Options struct {
	// Now returns the current time; nil means time.Now.
	Now func() time.Time
	// Results reads outputs for read_result; without it the tool does not exist.
	Results Results
	// Search configures web_search; without it the tool does not exist.
	Search *Search
}

func New(options Options) (tool.Set, error) {
	now := options.Now
	if now == nil {
		now = time.Now
	}
	definitions := []definition{calculator(), think(), currentTime(now)}
	if options.Results != nil {
		definitions = append(definitions, readResult(options.Results))
	}
	if options.Search != nil {
		definitions = append(definitions, webSearch(*options.Search))
	}
	var tools []*tool.Tool
	for _, d := range definitions {
		d.spec.ReadOnly = true
		// The others only compute; read_result returns the labels of what it reads.
		d.spec.Content.Trusted = d.spec.Name != WebSearch
		t, err := tool.New(d.spec, d.run)
		if err != nil {
			return tool.Set{}, err
		}
		tools = append(tools, t)
	}
	return tool.NewSet(tools...)
}

type definition struct {
	spec tool.Spec
	run  tool.Func
}

// define wraps a function that takes its arguments as a struct.
func define[A any](spec tool.Spec, run func(context.Context, tool.Invocation, A) (tool.Output, error)) definition {
	return definition{spec, func(ctx context.Context, call tool.Invocation) (tool.Output, error) {
		var arguments A
		if err := json.Unmarshal(call.Arguments, &arguments); err != nil {
			return tool.Output{}, fmt.Errorf("read arguments: %w", err)
		}
		return run(ctx, call, arguments)
	}}
}

func structured(text string, value any) (tool.Output, error) {
	encoded, err := json.Marshal(value)
	if err != nil {
		return tool.Output{}, fmt.Errorf("encode output: %w", err)
	}
	return tool.Output{Text: text, Structured: encoded}, nil
}

// refused returns an output for a request that the model can correct.
func refused(format string, values ...any) tool.Output {
	return tool.Output{Text: fmt.Sprintf(format, values...), IsError: true}
}

// integer decodes a JSON schema integer, which models may also write as 1e3 or 1000.0.
type integer int

func (i *integer) UnmarshalJSON(text []byte) error {
	var value float64
	if err := json.Unmarshal(text, &value); err != nil {
		return err
	}
	*i = integer(min(max(value, math.MinInt32), math.MaxInt32))
	return nil
}
