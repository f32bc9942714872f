// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package responses_test

import (
	"testing"

	"github.com/nestor-dev/nestor/internal/model/conformance"
)

func FuzzReply(f *testing.F) {
	conformance.FuzzReply(f, subject(),
		"data: {\"type\":\"response.output_item.added\",\"output_index\":0,\"item\":{\"type\":\"function_call\",\"call_id\":\"a\",\"name\":\"ls\"}}\n\ndata: {\"type\":\"response.function_call_arguments.delta\",\"output_index\":0,\"delta\":\"{\"}\n\ndata: {\"type\":\"response.completed\",\"response\":{\"status\":\"completed\",\"output\":[]}}\n\n",
		"data: {\"type\":\"response.output_text.delta\",\"output_index\":7,\"delta\":\"a\"}\n\ndata: {\"type\":\"response.incomplete\",\"response\":{\"status\":\"incomplete\",\"incomplete_details\":{\"reason\":\"max_output_tokens\"}}}\n\n",
		"{\"status\":\"completed\",\"output\":[{\"type\":\"reasoning\",\"summary\":[{\"text\":\"a\"}],\"encrypted_content\":\"b\"},{\"type\":\"message\",\"content\":[{\"type\":\"output_text\",\"text\":\" \"},{\"type\":\"refusal\",\"refusal\":\"no\"}]},{\"type\":\"function_call\",\"arguments\":\"[1]\"}]}",
		"data: {\"type\":\"response.failed\",\"response\":{\"status\":\"failed\",\"error\":{\"code\":\"rate_limit_exceeded\",\"message\":\"wait\"}}}\n\n",
		"data: {\"type\":\"error\",\"code\":\"server_error\",\"message\":\"no\"}\n\n",
		"data: {\"type\":\"response.completed\"}\n\n", "data: {\"type\":\"response.output_item.done\",\"item\":3}\n\n", "{}", "{\"output\":null,\"status\":\"cancelled\"}",
	)
}

func FuzzError(f *testing.F) { conformance.FuzzError(f, subject()) }
