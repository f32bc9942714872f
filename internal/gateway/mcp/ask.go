// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"fmt"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/nestor-dev/nestor/internal/gateway/run"
)

// The decisions about a tool call.
const (
	decisionApprove = "approve"
	decisionDeny    = "deny"
)

// actionAccept means that a person submitted the form. Closing or declining a form decides nothing.
const actionAccept = "accept"

// elicitation returns the form for an ask.
func elicitation(ask run.Ask) *sdk.ElicitParams {
	form := object([]string{"answer"}, schema{"answer": schema{"type": "string", "title": "Answer", "minLength": 1}})
	if ask.IsApproval() {
		form = object([]string{"decision"}, schema{
			"decision": schema{"type": "string", "title": "Decision", "enum": []string{decisionApprove, decisionDeny}},
			"comment":  schema{"type": "string", "title": "Comment", "description": "A reason, which the agent reads"},
		})
	}
	delete(form, "additionalProperties") // forms do not have it
	return &sdk.ElicitParams{Mode: "form", Message: ask.Text(), RequestedSchema: form}
}

// reply is what a person submitted.
type reply struct {
	answer, comment string
	approve         bool
}

// readReply reads the content of a form.
func readReply(ask run.Ask, content map[string]any) (reply, error) {
	field := func(name string) string { value, _ := content[name].(string); return strings.TrimSpace(value) }
	if !ask.IsApproval() {
		if field("answer") == "" {
			return reply{}, fmt.Errorf("the answer is empty")
		}
		return reply{answer: field("answer")}, nil
	}
	switch field("decision") {
	case decisionApprove:
		return reply{approve: true, comment: field("comment")}, nil
	case decisionDeny:
		return reply{comment: field("comment")}, nil
	}
	return reply{}, fmt.Errorf("decision must be %q or %q", decisionApprove, decisionDeny)
}

// requestState names the run and the ask of a request for input. It is no secret and needs no signature: everything that it leads to is done with
// the rights of the caller that sends it back.
type requestState struct{ namespace, task string }

// stateVersion begins a state, so that a later release can tell its own from this one.
const stateVersion = "1"

func (s requestState) String() string {
	return strings.Join([]string{stateVersion, s.namespace, s.task}, "/")
}

func parseRequestState(text string) (requestState, error) {
	parts := strings.Split(text, "/")
	if len(parts) != 3 || parts[0] != stateVersion || parts[1] == "" || parts[2] == "" {
		return requestState{}, fmt.Errorf("requestState is not from this server: repeat the call without it")
	}
	return requestState{namespace: parts[1], task: parts[2]}, nil
}
