// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package bare

import (
	"context"
	"encoding/json"
	"hash/fnv"
	"math/rand/v2"
	"sync/atomic"

	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/tool"
)

const toolName = "bench__lookup"

// tools is one read-only in-process tool. Like every tool that users add, its intent is durable before it runs.
type tools struct {
	set  tool.Set
	size int
	// afterCall is called with the number of each call, from 1.
	afterCall func(call int64)
	calls     atomic.Int64
	bytes     atomic.Int64
}

func newTools(size int, ran func(call int64)) (*tools, error) {
	t := &tools{size: size, afterCall: ran}
	made, err := tool.New(tool.Spec{
		Name: toolName, Description: "Looks up an item.", ReadOnly: true,
		Parameters: json.RawMessage(`{"type":"object","properties":{"item":{"type":"string","description":"what to look up"}},"required":["item"]}`),
	}, t.run)
	if err != nil {
		return nil, err
	}
	t.set, err = tool.NewSet(made)
	return t, err
}

// Set implements engine.Tools.
func (t *tools) Set(context.Context, ledger.Agent, string) (tool.Set, error) { return t.set, nil }

func (t *tools) run(_ context.Context, call tool.Invocation) (tool.Output, error) {
	t.afterCall(t.calls.Add(1))
	output := text(call.IdempotencyKey, t.size)
	t.bytes.Add(int64(len(output)))
	return tool.Output{Text: output}, nil
}

func (t *tools) specs() []agent.Tool {
	spec := t.set.Tools()[0].Spec()
	return []agent.Tool{{Name: spec.Name, Description: spec.Description, Parameters: spec.Parameters, ReadOnly: spec.ReadOnly}}
}

// text returns text that is the same for the same seed and different for another, so that a ledger cannot
// deduplicate two of them.
func text(seed string, size int) string {
	const syllables = "ba be bi bo bu da de di do du ka ke ki ko ku la le li lo lu ma me mi mo mu na ne ni no nu ra re ri ro ru sa se si so su ta te ti to tu "
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(seed)) // it never fails
	random := rand.New(rand.NewPCG(hash.Sum64(), 0))
	out := make([]byte, 0, size+8)
	for len(out) < size {
		for n := 2 + random.IntN(3); n > 0; n-- {
			at := 3 * random.IntN(len(syllables)/3)
			out = append(out, syllables[at:at+2]...)
		}
		out = append(out, ' ')
	}
	return string(out[:size])
}
