// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package openai_test

import (
	"testing"

	"github.com/nestor-dev/nestor/internal/model/conformance"
)

func FuzzReply(f *testing.F) {
	conformance.FuzzReply(f, subject(),
		"data: {\"choices\":[{\"delta\":{\"content\":\"a\"},\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":2}}\n\ndata: [DONE]\n\n",
		"data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"ls\",\"arguments\":\"{\\\"p\\\":\"}}]}}]}\n\ndata: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"1}\"}},{\"id\":\"a\",\"function\":{\"name\":\"l s\",\"arguments\":{}}}]},\"finish_reason\":\"tool_calls\"}]}\n\n",
		"{\"choices\":[{\"message\":{\"content\":[{\"text\":\"a\"}],\"refusal\":\"no\",\"tool_calls\":[{\"function\":{}},{\"function\":{\"name\":\"x\",\"arguments\":null}}]},\"finish_reason\":\"length\"}]}",
		": comment\nevent: x\nid: 1\nretry: 5\ndata: {\"error\":{\"code\":429,\"message\":\"slow\"}}\n\n",
		"{}", "data: {\"choices\":null,\"error\":null}\r\n\r\n",
	)
}

func FuzzError(f *testing.F) { conformance.FuzzError(f, subject()) }
