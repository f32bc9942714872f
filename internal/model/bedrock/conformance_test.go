// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package bedrock_test

import (
	"testing"

	"github.com/nestor-dev/nestor/internal/model"
	"github.com/nestor-dev/nestor/internal/model/bedrock"
	"github.com/nestor-dev/nestor/internal/model/conformance"
	"github.com/nestor-dev/nestor/internal/model/wire"
)

func TestConformance(t *testing.T) { conformance.Run(t, subject()) }

func subject() conformance.Subject {
	return conformance.Subject{
		API:       model.Bedrock,
		NewClient: func(endpoint wire.Endpoint) (model.Client, error) { return bedrock.NewClient(endpoint) },
		BaseURL:   func(address string) string { return address },
	}
}

func FuzzReply(f *testing.F) {
	conformance.FuzzReply(f, subject(),
		`{"output":{"message":{"content":[{"reasoningContent":{"reasoningText":{"text":"a","signature":"b"}}},{"text":"c"},{"toolUse":{"toolUseId":"a","name":"l s","input":[1]}}]}},"stopReason":"tool_use","usage":{"inputTokens":1,"outputTokens":"2"}}`,
		`{"output":{"message":{"content":[{"reasoningContent":{"redactedContent":"eA=="}},{"toolUse":{"name":"-"}},{"toolUse":null}]}},"stopReason":"malformed_tool_use"}`,
		"\x00\x00\x00\x10\x00\x00\x00\x00\x05\xc2\x48\xeb\x7d\x98\xc8\xff", "\x00\x00\x00", `{"output":null}`, `{"error":{"code":503}}`,
	)
}

func FuzzError(f *testing.F) { conformance.FuzzError(f, subject()) }
