// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package openai

import (
	"encoding/json"
	"iter"
	"reflect"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/nestor-dev/nestor/internal/gateway/run"
	"github.com/nestor-dev/nestor/internal/tool"
)

// A request with a JSON schema starts a run with that outputSchema, and the text of the response is the structured
// result. Questions and approvals before it are text, as in other runs.

// format is the form of the result that a request asks for. Its fields are beside the type in responses, and inside
// JSONSchema in chat completions. Every schema is strict here, and its name has no meaning for runs.
type format struct {
	Type       string          `json:"type"`
	Schema     json.RawMessage `json:"schema"`
	JSONSchema struct {
		Schema json.RawMessage `json:"schema"`
	} `json:"json_schema"`
}

// schema returns the JSON schema of the result, or nil for text. param is the name of the field.
func (f format) schema(param string) (json.RawMessage, error) {
	switch f.Type {
	case "", "text":
		return nil, nil
	case "json_schema":
		schema := f.Schema
		if len(schema) == 0 {
			schema = f.JSONSchema.Schema
		}
		var object map[string]any
		if json.Unmarshal(schema, &object) != nil || object["type"] != "object" {
			return nil, badf(param, "%s needs a schema of the type object.", param)
		}
		if _, err := tool.OutputSchema(schema); err != nil {
			return nil, badf(param, "The schema in %s cannot be used: %s.", param, err)
		}
		return schema, nil
	}
	return nil, badf(param, "%s of the type %q is not supported: use json_schema, which has the result in the form of your schema, or text.", param, f.Type)
}

// checkSchema returns an error if a request that continues a run has another schema than the run.
func (q request) checkSchema(ofRun *runtime.RawExtension) error {
	if q.schema == nil {
		return nil
	}
	var want, have any
	if ofRun != nil && json.Unmarshal(q.schema, &want) == nil && json.Unmarshal(ofRun.Raw, &have) == nil && reflect.DeepEqual(want, have) {
		return nil
	}
	return badf(q.schemaParam, "The run that this request continues was started with another schema, or none: repeat its first request with the schema, or leave out %s.", q.schemaParam)
}

// dataOnly replaces the text of a run with its structured result.
func dataOnly(events iter.Seq2[run.Event, error]) iter.Seq2[run.Event, error] {
	return func(yield func(run.Event, error) bool) {
		for event, err := range events {
			if err == nil && (event.Kind == run.Text || event.Kind == run.Replace) {
				continue
			}
			if err == nil && event.Kind == run.End && failure(event) == nil {
				data, err := resultData(event)
				if err != nil {
					yield(event, err)
					return
				}
				event.Answer = string(data)
				// The position follows from the data, so that a repeated stream has the same sequence numbers.
				text := run.Event{Kind: run.Text, Begin: true, Text: event.Answer, Cursor: run.Cursor{Seq: event.Cursor.Seq, Offset: len(event.Answer)}}
				if !yield(text, nil) {
					return
				}
			}
			if !yield(event, err) || err != nil {
				return
			}
		}
	}
}

func resultData(end run.Event) (json.RawMessage, error) {
	data, omitted := run.DataOf(end.Task, end.Outcome)
	switch {
	case omitted:
		return nil, &runFailed{kind: "DataOmitted", message: "the data of the result is too large for the status of the task: read it with a token that may read histories (get on transcripts.history.nestor.dev)"}
	case len(data) == 0:
		return nil, &runFailed{kind: "NoData", message: "the result of the task has no data"}
	}
	return data, nil
}
