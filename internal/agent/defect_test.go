// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import "testing"

func TestDefectOfReply(t *testing.T) {
	schema := Config{Kind: SubAgent, OutputSchema: []byte(`{"type":"object"}`)}
	plain := Config{Kind: SubAgent}
	call := func(tool, arguments, problem string) []ToolCall {
		return []ToolCall{{ID: "c", Tool: tool, Arguments: arguments, Problem: problem}}
	}
	for name, c := range map[string]struct {
		config Config
		reply  ModelReplied
		want   ErrorKind
	}{
		"text":                           {plain, ModelReplied{Text: "Done."}, ""},
		"nothing":                        {plain, ModelReplied{}, ErrorEmptyReply},
		"nothing in a chat":              {Config{Kind: Orchestrator}, ModelReplied{}, ""},
		"half a text":                    {plain, ModelReplied{Text: "Do", Finish: FinishLength}, ErrorReplyCutOff},
		"nothing within the limit":       {plain, ModelReplied{Finish: FinishLength}, ErrorReplyCutOff},
		"text in place of data":          {schema, ModelReplied{Text: "Done."}, ErrorOutputSchemaNotMet},
		"a call":                         {plain, ModelReplied{Calls: call("read", `{}`, "")}, ""},
		"a call without arguments":       {plain, ModelReplied{Calls: call("read", ``, "")}, ""},
		"no JSON":                        {plain, ModelReplied{Calls: call("read", `{"a`, "")}, ErrorInvalidArguments},
		"half a JSON":                    {plain, ModelReplied{Calls: call("read", `{"a`, ""), Finish: FinishLength}, ErrorReplyCutOff},
		"arguments that do not fit":      {plain, ModelReplied{Calls: call("read", `{}`, "path is missing")}, ErrorInvalidArguments},
		"in a chat":                      {Config{Kind: Orchestrator}, ModelReplied{Calls: call("read", `{}`, "path is missing")}, ErrorInvalidArguments},
		"one of two calls":               {plain, ModelReplied{Calls: append(call("read", `{"a`, ""), call("ls", `{}`, "")...)}, ""},
		"a submission":                   {plain, ModelReplied{Calls: call(ToolSubmit, `{"result":"a"}`, "")}, ""},
		"a submission of nothing":        {plain, ModelReplied{Calls: call(ToolSubmit, `{}`, "")}, ErrorInvalidArguments},
		"a submission without data":      {schema, ModelReplied{Calls: call(ToolSubmit, `{"result":"a"}`, "")}, ErrorOutputSchemaNotMet},
		"a submission of unfitting data": {schema, ModelReplied{Calls: call(ToolSubmit, `{"result":"a","data":{}}`, "x is missing")}, ErrorOutputSchemaNotMet},
		"a submission with data":         {schema, ModelReplied{Calls: call(ToolSubmit, `{"result":"a","data":{}}`, "")}, ""},
	} {
		if got := c.config.defectOf(c.reply); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
