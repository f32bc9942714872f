// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package model

// The measures of EstimateTokens.
const (
	bytesPerToken    = 3
	tokensPerMessage = 8
	tokensPerImage   = 1100
)

// EstimateTokens guesses the prompt tokens of a request before it is sent, for limits and budgets. It errs on the large
// side for prose and comes close for code: what is reserved too much is given back when the usage is known.
func EstimateTokens(req Request) int64 {
	var size, extra int64
	for _, m := range req.Messages {
		size += int64(len(m.Text) + len(m.Refusal))
		for _, call := range m.ToolCalls {
			size += int64(len(call.Name) + len(call.Arguments))
		}
		extra += tokensPerMessage + tokensPerImage*int64(len(m.Images))
	}
	for _, t := range req.Tools {
		size += int64(len(t.Name) + len(t.Description) + len(t.Parameters))
		extra += tokensPerMessage
	}
	return size/bytesPerToken + extra
}
