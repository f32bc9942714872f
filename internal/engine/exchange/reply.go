// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package exchange

import (
	"errors"
	"fmt"
	"strings"

	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/agent/budget"
	"github.com/nestor-dev/nestor/internal/model"
)

// Fact converts a reply to a fact. A refusal is a failure, whatever else it contains, but its usage counts.
func Fact(e agent.CallModel, reply model.Reply, usage budget.Usage) agent.Fact {
	failed := agent.ModelFailed{Call: e.Call, Attempt: e.Attempt, Failure: agent.FailureFinal, Usage: &usage}
	switch reply.Outcome() {
	case model.OutcomeRefused:
		failed.Message = "the model refused: " + ValidUTF8(reply.Refusal)
		return failed
	case model.OutcomeFiltered:
		failed.Message = "the provider's content filter stopped the reply"
		return failed
	}
	fact := agent.ModelReplied{Call: e.Call, Text: ValidUTF8(reply.Text), Usage: usage, Reasoning: ValidUTF8(reply.Reasoning), ReasoningItems: recordedReasoning(reply.ReasoningItems)}
	if reply.Outcome() == model.OutcomeTruncated {
		fact.Finish = agent.FinishLength
	}
	for _, c := range reply.ToolCalls {
		call := agent.ToolCall{ID: ValidUTF8(c.ID), Tool: ValidUTF8(c.Name), Arguments: ValidUTF8(c.Arguments)}
		if c.ArgumentsError != "" {
			call.Problem = ValidUTF8(fmt.Sprintf("%s was not called: %s.", c.Name, c.ArgumentsError))
		}
		fact.Calls = append(fact.Calls, call)
	}
	return fact
}

// ValidUTF8 replaces invalid UTF-8, which neither the ledger nor the API server accepts.
func ValidUTF8(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }

// Error returns the failure of a call. An error of another type is transient.
func Error(err error) *model.Error {
	var failure *model.Error
	if !errors.As(err, &failure) {
		return &model.Error{Kind: model.Transient, Message: err.Error()}
	}
	return failure
}
