// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package projection

import (
	"encoding/json"
	"reflect"
	"strings"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/plainjson"
	"github.com/nestor-dev/nestor/internal/shorten"
	"github.com/nestor-dev/nestor/internal/statusobject"
)

// setCall shows the call that needs a decision.
func setCall(w *v1beta1.Waiting, tool, arguments string) {
	w.Kind, w.Tool, w.Text = v1beta1.WaitingApproval, shorten.Head(tool, maxToolName), callText(tool, arguments)
	w.Arguments, w.ArgumentsOmitted = callArguments(arguments)
	w.ArgumentsDigest = agent.CallDigest(tool, arguments)
}

// callArguments returns the arguments of a call for a status, and whether they are left out: a person must be able to
// decide from the object as from the text of the model, so a part of them or a rounded number is not shown.
func callArguments(text string) (arguments *runtime.RawExtension, omitted bool) {
	if text == "" {
		return nil, false
	}
	object := statusobject.Of([]byte(text), maxArguments)
	if object == nil || !reflect.DeepEqual(exactValue(text), exactValue(string(object.Raw))) {
		return nil, true
	}
	return object, false
}

// exactValue decodes JSON with its numbers as they are written.
func exactValue(text string) any {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	var value any
	if decoder.Decode(&value) != nil {
		return nil
	}
	return value
}

// longestValue and shortestValue bound the lengths to which the arguments of a call that is too long are shortened.
const (
	longestValue  = 512
	shortestValue = 16
)

// callText returns a call for the person who decides about it. If it is too long, its long arguments are shortened and
// not its end: otherwise one long argument (a commit message) could hide another (the published files).
func callText(tool, arguments string) string {
	text := tool + " " + arguments
	if utf8.RuneCountInString(text) <= maxWaitingText {
		return shorten.Head(text, maxWaitingText)
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal([]byte(arguments), &fields) != nil {
		return shorten.Head(text, maxWaitingText)
	}
	for limit := longestValue; limit >= shortestValue; limit /= 2 {
		short := map[string]any{}
		for name, value := range fields {
			short[name] = shortValue(value, limit)
		}
		encoded, err := plainjson.Marshal(short)
		if text := tool + " " + string(encoded); err == nil && utf8.RuneCountInString(text) <= maxWaitingText {
			return text
		}
	}
	return shorten.Head(text, maxWaitingText)
}

// shortValue returns a value, or the beginning of its text.
func shortValue(value json.RawMessage, limit int) any {
	var text string
	if json.Unmarshal(value, &text) == nil {
		return shorten.Head(text, limit)
	}
	if len(value) > limit {
		return shorten.Head(string(value), limit)
	}
	return value
}
