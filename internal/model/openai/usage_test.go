// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package openai_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nestor-dev/nestor/internal/model"
	"github.com/nestor-dev/nestor/internal/model/conformance"
)

// TestOddUsageIsReadOrUnknown checks that unusual usage never makes a reply unreadable and never overflows sums.
func TestOddUsageIsReadOrUnknown(t *testing.T) {
	const huge = 1 << 40
	for text, want := range map[string]*model.Usage{
		`"prompt_tokens":12.0,"completion_tokens":3.2`:                                          {PromptTokens: 12, CompletionTokens: 4, TotalTokens: 16},
		`"prompt_tokens":"12","completion_tokens":"3"`:                                          {PromptTokens: 12, CompletionTokens: 3, TotalTokens: 15},
		`"prompt_tokens":1e3,"completion_tokens":3,"total_tokens":null`:                         {PromptTokens: 1000, CompletionTokens: 3, TotalTokens: 1003},
		`"prompt_tokens":9223372036854775807,"completion_tokens":9223372036854775807`:           {PromptTokens: huge, CompletionTokens: huge, TotalTokens: 2 * huge},
		`"prompt_tokens":99999999999999999999999,"completion_tokens":1e999`:                     {PromptTokens: huge, CompletionTokens: huge, TotalTokens: 2 * huge},
		`"prompt_tokens":12,"completion_tokens":3,"prompt_tokens_details":{"cached_tokens":-4}`: {PromptTokens: 12, CompletionTokens: 3, TotalTokens: 15},
		`"prompt_tokens":-1,"completion_tokens":3`:                                              nil,
		`"prompt_tokens":"many","completion_tokens":3`:                                          nil,
		`"prompt_tokens":{"text":5},"completion_tokens":[3]`:                                    nil,
		`"prompt_tokens":true,"completion_tokens":3`:                                            nil,
	} {
		t.Run(text, func(t *testing.T) {
			client, _ := subject().Play(t, conformance.RawReply("application/json", fmt.Sprintf(`{"choices":[{"message":{"content":"hi"}}],"usage":{%s}}`, text)))
			reply, err := client.Complete(t.Context(), conformance.Question(), nil)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, reply.Usage); diff != "" {
				t.Errorf("usage (-want +got):\n%s", diff)
			}
		})
	}
}

// TestReplyWithoutChoicesKeepsUsage: a provider may charge for an empty reply.
func TestReplyWithoutChoicesKeepsUsage(t *testing.T) {
	client, _ := subject().Play(t, conformance.RawReply("application/json", `{"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":2}}`))
	_, err := client.Complete(t.Context(), conformance.Question(), nil)
	if failure := conformance.Failure(t, err); failure.Usage == nil || failure.Usage.TotalTokens != 11 {
		t.Errorf("the error is %+v, want one with the usage of 11 tokens", err)
	}
}
