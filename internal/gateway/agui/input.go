// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agui

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

const (
	// maxID bounds the ids of threads and runs.
	maxID = 256
	// maxMessages bounds the conversation that a client sends.
	maxMessages = 2000
	roleUser    = "user"
)

// input is a RunAgentInput.
type input struct {
	ThreadID        string            `json:"threadId"`
	RunID           string            `json:"runId"`
	ParentRunID     string            `json:"parentRunId"`
	ProtocolVersion string            `json:"protocolVersion"`
	State           json.RawMessage   `json:"state"`
	Messages        []json.RawMessage `json:"messages"`
	Tools           []struct {
		Name string `json:"name"`
	} `json:"tools"`
	Context []struct {
		Description string `json:"description"`
		Value       string `json:"value"`
	} `json:"context"`
	Resume []resumeEntry `json:"resume"`
}

// resumeEntry answers an interrupt.
type resumeEntry struct {
	InterruptID string          `json:"interruptId"`
	Status      string          `json:"status"`
	Payload     json.RawMessage `json:"payload"`
}

func parseInput(body []byte) (*input, error) {
	in := &input{}
	if err := json.Unmarshal(body, in); err != nil {
		return nil, fmt.Errorf("the body is not a RunAgentInput: %w", err)
	}
	for name, id := range map[string]string{"threadId": in.ThreadID, "runId": in.RunID} {
		if id == "" || len(id) > maxID {
			return nil, fmt.Errorf("%s must have 1 to %d characters", name, maxID)
		}
	}
	if len(in.Messages) > maxMessages {
		return nil, fmt.Errorf("messages has more than %d entries", maxMessages)
	}
	if len(in.Resume) > 1 {
		return nil, errors.New("a run has one interrupt at a time: resume must have one entry")
	}
	return in, nil
}

// modern reports whether the client supports the events of AG-UI 1.0. Older clients fail at events that they do not
// support.
func (in *input) modern() bool { return in.ProtocolVersion != "" }

// instruction returns the newest message of the person, with the context that the client sent with it.
func (in *input) instruction() (string, error) {
	for i, sent := range slices.Backward(in.Messages) {
		var m struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
		}
		if err := json.Unmarshal(sent, &m); err != nil {
			return "", fmt.Errorf("messages[%d] is not a message: %w", i, err)
		}
		if m.Role != roleUser {
			continue
		}
		text, err := contentText(m.Content)
		if err != nil {
			return "", fmt.Errorf("messages[%d]: %w", i, err)
		}
		if strings.TrimSpace(text) == "" {
			return "", fmt.Errorf("messages[%d], the newest message with the role user, is empty", i)
		}
		return in.withContext(text), nil
	}
	return "", errors.New("messages has no message with the role user: its newest one is the instruction of the run")
}

func (in *input) withContext(instruction string) string {
	if len(in.Context) == 0 {
		return instruction
	}
	lines := []string{instruction, "", "Context from the application:"}
	for _, c := range in.Context {
		lines = append(lines, fmt.Sprintf("- %s: %s", c.Description, c.Value))
	}
	return strings.Join(lines, "\n")
}

// contentText returns the text of a message: a string, or a list of parts.
func contentText(content json.RawMessage) (string, error) {
	if bytes.HasPrefix(bytes.TrimSpace(content), []byte(`"`)) {
		var text string
		err := json.Unmarshal(content, &text)
		return text, err
	}
	var parts []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	if err := json.Unmarshal(content, &parts); err != nil {
		return "", errors.New("content is neither text nor a list of parts")
	}
	var text []string
	for _, part := range parts {
		if part.Type != "text" {
			return "", fmt.Errorf("content has a part of type %q: only text can be sent to an agent", part.Type)
		}
		text = append(text, part.Text)
	}
	return strings.Join(text, "\n"), nil
}

// state returns the client's state if it is an object, or else an empty one.
func (in *input) state() map[string]any {
	var state map[string]any
	if json.Unmarshal(in.State, &state) != nil || state == nil {
		return map[string]any{}
	}
	return state
}
