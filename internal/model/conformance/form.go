// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/nestor-dev/nestor/internal/model"
)

// form writes parts of responses in the form of an API, for responses that a script cannot express.
type form struct {
	// text, reasoning and arguments begin a stream and continue it with a piece of text, of the reasoning, or of the
	// arguments of a tool call. An API that sends only whole calls has no arguments.
	text, reasoning, arguments streamed
	// calls is a stream with this number of tool calls.
	calls func(n int) string
	// end ends a stream of text.
	end string
	// whole is a reply without a stream. It must not escape the text.
	whole func(text string) string
	// wholeCalls is a reply with this number of tool calls, without a stream.
	wholeCalls func(n int) string
	// overloaded and failed are events with an error: that the provider is overloaded, and any text.
	overloaded string
	failed     func(message string) string
	// models is a list of models with the given entries; model is one entry.
	models func(entries string) string
	model  string
	// frame is a message of a stream with data of an event, if the API's streams are not text.
	frame func(data string) string
}

// events is a stream with the data of events.
func (f form) events(data ...string) string {
	if f.frame == nil {
		return events(data...)
	}
	return join(len(data), "", func(i int) string { return f.frame(data[i]) })
}

type streamed struct {
	begin string
	piece func(text string) string
}

func newForm(api model.API) form {
	switch api {
	case model.Anthropic:
		return anthropicForm()
	case model.OpenAIResponses:
		return responsesForm()
	case model.Gemini:
		return geminiForm()
	case model.Vertex:
		f := geminiForm()
		f.models = func(entries string) string { return `{"publisherModels":[` + entries + `]}` }
		f.model = `{"name":"publishers/google/models/m"}`
		return f
	case model.Bedrock:
		return bedrockForm()
	}
	return openaiForm()
}

func events(data ...string) string { return "data: " + strings.Join(data, "\n\ndata: ") + "\n\n" }

func join(n int, separator string, text func(i int) string) string {
	texts := make([]string, n)
	for i := range texts {
		texts[i] = text(i)
	}
	return strings.Join(texts, separator)
}

func quote(text string) string {
	quoted, err := json.Marshal(text)
	if err != nil {
		panic(err) // text is always encoded
	}
	return string(quoted)
}

func openaiForm() form {
	chunk := func(delta string) string { return events(`{"choices":[{"delta":` + delta + `}]}`) }
	call := func(i int) string {
		return fmt.Sprintf(`{"index":%d,"id":"c%d","function":{"name":"ls","arguments":"{}"}}`, i, i)
	}
	return form{
		text:      streamed{piece: func(s string) string { return chunk(`{"content":` + quote(s) + `}`) }},
		reasoning: streamed{piece: func(s string) string { return chunk(`{"reasoning_content":` + quote(s) + `}`) }},
		arguments: streamed{piece: func(s string) string {
			return chunk(`{"tool_calls":[{"index":0,"id":"c","function":{"name":"ls","arguments":` + quote(s) + `}}]}`)
		}},
		calls: func(n int) string {
			return join(n, "", func(i int) string { return chunk(`{"tool_calls":[` + call(i) + `]}`) })
		},
		end: events(`{"choices":[{"delta":{},"finish_reason":"stop"}]}`, "[DONE]"),
		whole: func(text string) string {
			return `{"choices":[{"message":{"content":"` + text + `"},"finish_reason":"stop"}]}`
		},
		wholeCalls: func(n int) string {
			return `{"choices":[{"message":{"tool_calls":[` + join(n, ",", call) + `]},"finish_reason":"tool_calls"}]}`
		},
		overloaded: events(`{"error":{"message":"The engine is overloaded.","type":"overloaded_error"}}`),
		failed:     func(message string) string { return events(`{"error":{"message":` + quote(message) + `}}`) },
		models:     func(entries string) string { return `{"object":"list","data":[` + entries + `]}` },
		model:      `{"id":"m"}`,
	}
}

func anthropicForm() form {
	const start = `{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"usage":{"input_tokens":1,"output_tokens":1}}}`
	begin := func(block string) string {
		return events(start, `{"type":"content_block_start","index":0,"content_block":`+block+`}`)
	}
	delta := func(kind, field string) func(string) string {
		return func(s string) string {
			return events(`{"type":"content_block_delta","index":0,"delta":{"type":"` + kind + `","` + field + `":` + quote(s) + `}}`)
		}
	}
	call := func(i int) string { return fmt.Sprintf(`{"type":"tool_use","id":"c%d","name":"ls","input":{}}`, i) }
	return form{
		text:      streamed{begin(`{"type":"text","text":""}`), delta("text_delta", "text")},
		reasoning: streamed{begin(`{"type":"thinking","thinking":"","signature":""}`), delta("thinking_delta", "thinking")},
		arguments: streamed{begin(call(0)), delta("input_json_delta", "partial_json")},
		calls: func(n int) string {
			return events(start) + join(n, "", func(i int) string {
				return events(fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":%s}`, i, call(i)), fmt.Sprintf(`{"type":"content_block_stop","index":%d}`, i))
			})
		},
		end: events(`{"type":"content_block_stop","index":0}`, `{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":3}}`, `{"type":"message_stop"}`),
		whole: func(text string) string {
			return `{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"` + text + `"}],"stop_reason":"end_turn"}`
		},
		wholeCalls: func(n int) string {
			return `{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[` + join(n, ",", call) + `],"stop_reason":"tool_use"}`
		},
		overloaded: "event: error\n" + events(`{"type":"error","error":{"type":"overloaded_error","message":"The engine is overloaded."}}`),
		failed: func(message string) string {
			return "event: error\n" + events(`{"type":"error","error":{"type":"api_error","message":`+quote(message)+`}}`)
		},
		models: func(entries string) string {
			return `{"data":[` + entries + `],"has_more":false,"first_id":null,"last_id":null}`
		},
		model: `{"type":"model","id":"m"}`,
	}
}

func responsesForm() form {
	const start = `{"type":"response.created","response":{"id":"resp_1","object":"response","model":"m","status":"in_progress","output":[]}}`
	begin := func(item string) string {
		return events(start, `{"type":"response.output_item.added","output_index":0,"item":`+item+`}`)
	}
	delta := func(kind string) func(string) string {
		return func(s string) string {
			return events(`{"type":"` + kind + `","item_id":"i0","output_index":0,"content_index":0,"summary_index":0,"delta":` + quote(s) + `}`)
		}
	}
	call := func(i int) string {
		return fmt.Sprintf(`{"type":"function_call","id":"fc%d","call_id":"c%d","name":"ls","arguments":"{}","status":"completed"}`, i, i)
	}
	whole := func(output string) string {
		return `{"id":"resp_1","object":"response","model":"m","status":"completed","output":[` + output + `]}`
	}
	message := func(text string) string {
		return `{"type":"message","id":"i0","role":"assistant","status":"completed","content":[{"type":"output_text","text":"` + text + `","annotations":[]}]}`
	}
	return form{
		text:      streamed{begin(`{"type":"message","id":"i0","role":"assistant","content":[]}`), delta("response.output_text.delta")},
		reasoning: streamed{begin(`{"type":"reasoning","id":"i0","summary":[]}`), delta("response.reasoning_summary_text.delta")},
		arguments: streamed{begin(`{"type":"function_call","id":"i0","call_id":"c0","name":"ls","arguments":""}`), delta("response.function_call_arguments.delta")},
		calls: func(n int) string {
			return events(start) + join(n, "", func(i int) string {
				return events(fmt.Sprintf(`{"type":"response.output_item.added","output_index":%d,"item":%s}`, i, call(i)), fmt.Sprintf(`{"type":"response.output_item.done","output_index":%d,"item":%s}`, i, call(i)))
			})
		},
		end:        events(`{"type":"response.completed","response":` + whole(message("There are three.")) + `}`),
		whole:      func(text string) string { return whole(message(text)) },
		wholeCalls: func(n int) string { return whole(join(n, ",", call)) },
		overloaded: events(`{"type":"error","code":"overloaded_error","message":"The engine is overloaded.","param":null}`),
		failed: func(message string) string {
			return events(`{"type":"error","code":"server_error","message":` + quote(message) + `}`)
		},
		models: openaiForm().models,
		model:  openaiForm().model,
	}
}

func geminiForm() form {
	candidate := func(part, finish string) string {
		return `{"candidates":[{"index":0,"content":{"role":"model","parts":[` + part + `]}` + finish + `}]}`
	}
	const stop = `,"finishReason":"STOP"`
	call := func(i int) string { return fmt.Sprintf(`{"functionCall":{"id":"c%d","name":"ls","args":{}}}`, i) }
	return form{
		text:      streamed{piece: func(s string) string { return events(candidate(`{"text":`+quote(s)+`}`, "")) }},
		reasoning: streamed{piece: func(s string) string { return events(candidate(`{"thought":true,"text":`+quote(s)+`}`, "")) }},
		calls: func(n int) string {
			return join(n, "", func(i int) string { return events(candidate(call(i), "")) })
		},
		end:        events(candidate(`{"text":""}`, stop)),
		whole:      func(text string) string { return candidate(`{"text":"`+text+`"}`, stop) },
		wholeCalls: func(n int) string { return candidate(join(n, ",", call), stop) },
		overloaded: events(`{"error":{"code":503,"message":"The engine is overloaded.","status":"UNAVAILABLE"}}`),
		failed: func(message string) string {
			return events(`{"error":{"code":500,"message":` + quote(message) + `,"status":"INTERNAL"}}`)
		},
		models: func(entries string) string { return `{"models":[` + entries + `]}` },
		model:  `{"name":"models/m"}`,
	}
}
