// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agui

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/nestor-dev/nestor/internal/gateway/run"
)

// The reasons of interrupts.
const (
	reasonQuestion = "input_required"
	reasonApproval = "tool_call"
)

// The statuses of a resume entry.
const (
	statusResolved  = "resolved"
	statusCancelled = "cancelled"
)

var answerSchema = map[string]any{
	"type": "object", "required": []string{"answer"},
	"properties": map[string]any{"answer": map[string]any{"type": "string", "minLength": 1}},
}

// decisionSchema returns the schema of a decision. A call that can be edited also takes its arguments.
func decisionSchema(ask run.Ask) map[string]any {
	properties := map[string]any{"approved": map[string]any{"type": "boolean"}, "comment": map[string]any{"type": "string"}}
	if ask.Editable {
		properties["editedArgs"] = map[string]any{"type": "object"}
	}
	return map[string]any{"type": "object", "required": []string{"approved"}, "properties": properties}
}

// position is where a run was interrupted: the task, the reference of its ask, and what the client had received.
type position struct {
	task, ask string
	cursor    run.Cursor
}

// interruptID returns the id of an interrupt. It contains everything that is needed to resume the run.
func (p position) interruptID() string {
	return strings.Join([]string{p.task, p.cursor.String(), p.ask}, "/")
}

func parsePosition(id string) (position, error) {
	task, rest, _ := strings.Cut(id, "/")
	text, ask, _ := strings.Cut(rest, "/")
	cursor, err := run.ParseCursor(text)
	if err != nil || task == "" || ask == "" {
		return position{}, fmt.Errorf("this agent has no interrupt with the id %q", id)
	}
	return position{task, ask, cursor}, nil
}

func interruptOf(task string, ask run.Ask, cursor run.Cursor) interrupt {
	i := interrupt{
		ID: position{task, ask.Ref(), cursor}.interruptID(), Reason: reasonQuestion, Message: ask.Description(), ResponseSchema: answerSchema,
		Metadata: map[string]any{"task": ask.Task, "role": ask.Role},
	}
	if ask.IsApproval() {
		i.Reason, i.ResponseSchema = reasonApproval, decisionSchema(ask)
		i.Metadata["tool"], i.Metadata["arguments"] = ask.Tool, ask.Arguments
		if ask.Call != "" {
			i.ToolCallID = callID(ask.Task, ask.Call)
		}
	}
	return i
}

// askPrefix begins the id of the message that shows an interrupt to clients that do not support them; the interrupt's
// id follows.
const askPrefix = "ask/"

// typedReply returns the newest message as the answer to an interrupt, if it follows the message that shows the
// interrupt. Clients that do not support interrupts have no other way to answer.
func (in *input) typedReply() (resumeEntry, bool) {
	if in.modern() || len(in.Messages) < 2 {
		return resumeEntry{}, false
	}
	var shown, typed struct {
		ID      string          `json:"id"`
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
	}
	last := len(in.Messages) - 1
	if json.Unmarshal(in.Messages[last-1], &shown) != nil || json.Unmarshal(in.Messages[last], &typed) != nil {
		return resumeEntry{}, false
	}
	id, ok := strings.CutPrefix(shown.ID, askPrefix)
	text, err := contentText(typed.Content)
	if !ok || err != nil || typed.Role != roleUser {
		return resumeEntry{}, false
	}
	payload, err := json.Marshal(text)
	return resumeEntry{InterruptID: id, Status: statusResolved, Payload: payload}, err == nil
}

// answerOf reads the answer to a question from the payload: text, or an object with an answer.
func answerOf(payload json.RawMessage) (string, error) {
	var text string
	if json.Unmarshal(payload, &text) != nil {
		var object struct {
			Answer string `json:"answer"`
		}
		if err := json.Unmarshal(payload, &object); err != nil {
			return "", errors.New(`the payload of an answer must be a string, or an object such as {"answer": "Green"}`)
		}
		text = object.Answer
	}
	if strings.TrimSpace(text) == "" {
		return "", errors.New(`the answer is empty: send a payload such as {"answer": "Green"}`)
	}
	return text, nil
}

// decisionOf reads a decision from the payload: an object, a boolean, or text such as "deny: not on a Friday".
func decisionOf(payload json.RawMessage) (run.Decision, error) {
	noDecision := errors.New(`the payload of a decision must be an object such as {"approved": true}, a boolean, or "approve" or "deny"`)
	var text string
	switch trimmed := bytes.TrimSpace(payload); {
	case json.Unmarshal(payload, &text) == nil && text != "":
		decision, ok := run.ParseDecision(text)
		if !ok {
			return run.Decision{}, noDecision
		}
		return decision, nil
	case bytes.Equal(trimmed, []byte("true")), bytes.Equal(trimmed, []byte("false")):
		return run.Decision{Approve: trimmed[0] == 't'}, nil
	}
	var object struct {
		Approved   *bool           `json:"approved"`
		Comment    string          `json:"comment"`
		EditedArgs json.RawMessage `json:"editedArgs"`
	}
	if err := json.Unmarshal(payload, &object); err != nil || object.Approved == nil {
		return run.Decision{}, noDecision
	}
	edited := object.EditedArgs
	switch {
	case len(edited) == 0 || string(edited) == "null":
		edited = nil
	case edited[0] != '{':
		return run.Decision{}, errors.New("editedArgs must be an object")
	case !*object.Approved:
		return run.Decision{}, errors.New("a denied call takes no editedArgs: say in comment what to do instead")
	}
	return run.Decision{Approve: *object.Approved, Comment: object.Comment, Arguments: string(edited)}, nil
}
