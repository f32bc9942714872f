// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package gemini_test

import (
	"testing"

	"github.com/nestor-dev/nestor/internal/model/conformance"
)

func FuzzReply(f *testing.F) {
	conformance.FuzzReply(f, subject(),
		"data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"a\"},{\"text\":\"b\",\"thought\":true,\"thoughtSignature\":\"c\"}]},\"finishReason\":\"STOP\"}],\"usageMetadata\":{\"promptTokenCount\":1,\"candidatesTokenCount\":2}}\n\n",
		"data: {\"candidates\":[{\"content\":{\"parts\":[{\"functionCall\":{\"name\":\"l s\",\"args\":[1]}},{\"functionCall\":{\"id\":\"a\",\"args\":null},\"thoughtSignature\":\"x\"},{\"functionCall\":{\"id\":\"a\",\"name\":\"-\"}}]},\"finishReason\":\"MAX_TOKENS\"}]}\n\n",
		"[{\"candidates\":[{\"index\":1},{\"finishReason\":\"SAFETY\"}]},{\"promptFeedback\":{\"blockReason\":\"OTHER\"}}]",
		"{\"candidates\":[{\"finishReason\":\"MALFORMED_FUNCTION_CALL\"}]}",
		"data: {\"error\":{\"code\":503,\"status\":\"UNAVAILABLE\"}}\n\n",
		"{\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"\"}]},\"finishReason\":\"STOP\"}]}", "{}", "{\"candidates\":null}",
	)
}

func FuzzError(f *testing.F) { conformance.FuzzError(f, subject()) }
