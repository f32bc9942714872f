// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package anthropic_test

import (
	"testing"

	"github.com/nestor-dev/nestor/internal/model"
	"github.com/nestor-dev/nestor/internal/model/anthropic"
	"github.com/nestor-dev/nestor/internal/model/conformance"
	"github.com/nestor-dev/nestor/internal/model/wire"
)

func FuzzReply(f *testing.F) {
	conformance.FuzzReply(f, subject(),
		"data: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"usage\":{\"input_tokens\":1}}}\n\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"a\"}}\n\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":1}}\n\ndata: {\"type\":\"message_stop\"}\n\n",
		"data: {\"type\":\"message_start\"}\n\ndata: {\"type\":\"content_block_start\",\"index\":1,\"content_block\":{\"type\":\"tool_use\",\"id\":\"a/b\",\"name\":\"l s\",\"input\":{\"a\":1}}}\n\ndata: {\"type\":\"content_block_delta\",\"index\":1,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"{\"}}\n\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"max_tokens\"}}\n\n",
		"{\"type\":\"message\",\"content\":[{\"type\":\"thinking\",\"thinking\":\"a\",\"signature\":\"b\"},{\"type\":\"redacted_thinking\",\"data\":\"c\"},{\"type\":\"text\",\"text\":\" \"},{\"type\":\"tool_use\",\"input\":[1]},{\"type\":\"tool_use\",\"name\":\"x\",\"input\":\"{\"}],\"stop_reason\":\"tool_use\"}",
		"data: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\"}}\n\n",
		"{\"content\":[],\"stop_reason\":\"refusal\",\"stop_details\":{\"explanation\":\"no\"}}",
		"data: {\"type\":\"ping\"}\n\n", "{}", "data:", "{\"content\":null,\"usage\":{\"input_tokens\":-1}}",
	)
}

func FuzzError(f *testing.F) { conformance.FuzzError(f, subject()) }

func subject() conformance.Subject {
	return conformance.Subject{
		API:       model.Anthropic,
		NewClient: func(endpoint wire.Endpoint) (model.Client, error) { return anthropic.NewClient(endpoint) },
		BaseURL:   func(address string) string { return address },
	}
}
