// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"github.com/nestor-dev/nestor/internal/model"
)

// FinishCalls checks the arguments of the calls and makes their IDs unique among themselves and in the history,
// deterministically.
func FinishCalls(calls []model.ToolCall, finish model.FinishReason, history []model.Message) []model.ToolCall {
	if len(calls) == 0 {
		return nil
	}
	used := map[string]bool{}
	for _, m := range history {
		for _, call := range m.ToolCalls {
			used[call.ID] = true
		}
	}
	for i := range calls {
		c := &calls[i]
		c.ID = uniqueID(c.ID, i, used)
		used[c.ID] = true
		c.Arguments, c.ArgumentsError = checkArguments(c.Arguments, finish)
	}
	return calls
}

var madeID = regexp.MustCompile(`^call-\d+(-\d+)?$`)

// IsMadeID reports whether FinishCalls made an ID for a call that had none.
func IsMadeID(id string) bool { return madeID.MatchString(id) }

func uniqueID(id string, i int, used map[string]bool) string {
	if id == "" {
		id = fmt.Sprintf("call-%d", i+1)
	}
	unique := id
	for n := 2; used[unique]; n++ {
		unique = fmt.Sprintf("%s-%d", id, n)
	}
	return unique
}

// checkArguments returns the arguments if they are a JSON object, or the original text with a description of the
// error. Many providers send no text for a tool without parameters.
func checkArguments(arguments string, finish model.FinishReason) (string, string) {
	trimmed := strings.TrimSpace(arguments)
	if trimmed == "" || trimmed == "null" {
		return "{}", ""
	}
	var object map[string]json.RawMessage
	err := json.Unmarshal([]byte(trimmed), &object)
	switch {
	case err == nil:
		return trimmed, ""
	case finish == model.FinishLength:
		return arguments, "the arguments were cut off at the output limit; make the call again with shorter arguments"
	case json.Valid([]byte(trimmed)):
		return arguments, "the arguments are JSON, but not an object"
	}
	return arguments, "the arguments are not a JSON object: " + err.Error()
}

// SendableName converts an invalid tool name for the history: a provider may return such a name but reject it in a
// request.
func SendableName(name string) string {
	name = strings.Map(sendable, name)
	if name == "" {
		return "unnamed"
	}
	return name[:min(len(name), 64)]
}

func sendable(c rune) rune {
	switch {
	case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '_', c == '-':
		return c
	}
	return '_'
}

// SendableArguments wraps arguments that are not JSON, which servers with chat templates reject. The model still
// receives its own text.
func SendableArguments(call model.ToolCall) string {
	if call.ArgumentsError == "" {
		return call.Arguments
	}
	wrapped, _ := json.Marshal(map[string]string{"invalid_arguments": call.Arguments}) // text can always be encoded
	return string(wrapped)
}
