// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package transcript

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	api "github.com/nestor-dev/nestor/api/history/v1beta1"
	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/shorten"
)

// What search finds of an entry: the beginning of its text, and of each tool call's arguments or result.
const (
	maxText     = 32 << 10
	maxToolText = 8 << 10
)

// Text implements ledger.TextOf: it returns what search finds of an event.
func Text(record ledger.Event) string {
	_, text := SearchText(record)
	return text
}

// SearchText returns the kind of an event's entry, and what search finds of it: the text that people read, and the arguments of
// tool calls. It is empty for an event without an entry of its own, and for one whose entry cannot be computed without the state: no
// text must keep an agent from continuing.
func SearchText(record ledger.Event) (kind api.EntryKind, text string) {
	defer func() {
		if recover() != nil {
			kind, text = "", ""
		}
	}()
	step := Step{Record: record}
	if step.After, step.Event, step.Damage = decode(record); step.Damage != nil {
		return "", ""
	}
	entry, ok := step.Entry()
	if !ok || entry.Kind == api.EntryRestarted {
		return "", ""
	}
	limit := maxText
	if entry.Kind == api.EntryToolResult {
		limit = maxToolText
	}
	texts := []string{shorten.HeadBytes(entry.Content, limit)}
	switch f := step.Event.Fact.(type) {
	case agent.ModelReplied:
		for _, call := range f.Calls {
			texts = append(texts, shorten.HeadBytes(argumentText(call.Arguments), maxToolText))
		}
	case agent.Asked:
		texts = append(texts, shorten.HeadBytes(argumentText(f.Arguments), maxToolText))
	}
	texts = slices.DeleteFunc(texts, func(text string) bool { return text == "" })
	return entry.Kind, strings.Join(texts, "\n")
}

// decode decodes an event. Only the first event's entry needs the state after it: the instruction of a sub-agent is there.
func decode(record ledger.Event) (after agent.State, e agent.Event, err error) {
	if record.Type == agent.FactType(agent.Started{}) {
		return agent.DecodeAndApply(agent.State{}, record.Data)
	}
	return agent.State{}, e, json.Unmarshal(record.Data, &e)
}

// argumentText returns the strings and numbers in the arguments of a tool call.
func argumentText(arguments string) string {
	decoder := json.NewDecoder(strings.NewReader(arguments))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return arguments
	}
	var texts []string
	collect(value, &texts)
	return strings.Join(texts, "\n")
}

func collect(value any, texts *[]string) {
	switch v := value.(type) {
	case string:
		*texts = append(*texts, v)
	case json.Number:
		*texts = append(*texts, v.String())
	case []any:
		for _, item := range v {
			collect(item, texts)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			collect(v[key], texts)
		}
	}
}
