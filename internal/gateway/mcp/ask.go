// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
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

func elicitation(ask run.Ask) *sdk.ElicitParams {
	form := object([]string{"answer"}, schema{"answer": schema{"type": "string", "title": "Answer", "minLength": 1}})
	if ask.IsApproval() {
		form = object([]string{"decision"}, schema{
			"decision": schema{"type": "string", "title": "Decision", "enum": []string{decisionApprove, decisionDeny}},
			"comment":  schema{"type": "string", "title": "Comment", "description": "A reason, which the agent reads"},
		})
		if ask.Editable && !ask.Truncated {
			form["properties"].(schema)["arguments"] = schema{
				"type": "string", "title": "Arguments", "description": "An object as JSON, which you can change before you approve", "default": ask.Arguments,
			}
		}
	}
	delete(form, "additionalProperties") // forms do not have it
	return &sdk.ElicitParams{Mode: "form", Message: ask.Description(), RequestedSchema: form}
}

// reply is what a person submitted.
type reply struct {
	answer   string
	decision run.Decision
}

// key returns the idempotency key of a reply. It follows from the ask and the content, so that a repeated request
// submits nothing twice.
func (r reply) key(shown string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %v %q %q", shown, r.answer, r.decision.Approve, r.decision.Comment, r.decision.Arguments))
	return doorName + "/" + hex.EncodeToString(sum[:])
}

// readReply reads the content of a form. shown is the reference of its ask, with which a client returns the form.
func readReply(approval bool, shown string, content map[string]any) (reply, error) {
	field := func(name string) string { value, _ := content[name].(string); return strings.TrimSpace(value) }
	if !approval {
		if field("answer") == "" {
			return reply{}, errors.New("the answer is empty")
		}
		return reply{answer: field("answer")}, nil
	}
	decision := run.Decision{Comment: field("comment"), Shown: shown, Arguments: field("arguments")}
	switch field("decision") {
	case decisionApprove:
		decision.Approve = true
	case decisionDeny:
	default:
		return reply{}, fmt.Errorf("decision must be %q or %q", decisionApprove, decisionDeny)
	}
	return reply{decision: decision}, nil
}

// requestState names the run of a request for input. It is no secret and needs no signature: the call that contains it
// has the permissions of its own caller only.
type requestState struct{ namespace, task string }

// stateVersion begins a state, so that a later release can distinguish its own from this one.
const stateVersion = "1"

func (s requestState) String() string {
	return strings.Join([]string{stateVersion, s.namespace, s.task}, "/")
}

func parseRequestState(text string) (requestState, error) {
	parts := strings.Split(text, "/")
	if len(parts) != 3 || parts[0] != stateVersion || parts[1] == "" || parts[2] == "" {
		return requestState{}, errors.New("requestState is not from this server: repeat the call without it")
	}
	return requestState{namespace: parts[1], task: parts[2]}, nil
}
