// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream"
	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream/eventstreamapi"
)

// awsMessage is a message of an event stream of AWS.
func awsMessage(messageType, nameHeader, name, data string) string {
	message := eventstream.Message{Payload: []byte(data)}
	message.Headers.Set(eventstreamapi.MessageTypeHeader, eventstream.StringValue(messageType))
	message.Headers.Set(nameHeader, eventstream.StringValue(name))
	var b strings.Builder
	if err := eventstream.NewEncoder().Encode(&b, message); err != nil {
		panic(err) // the headers are short
	}
	return b.String()
}

func awsEvent(name, data string) string {
	return awsMessage(eventstreamapi.EventMessageType, eventstreamapi.EventTypeHeader, name, data)
}

func awsException(name, message string) string {
	return awsMessage(eventstreamapi.ExceptionMessageType, eventstreamapi.ExceptionTypeHeader, name, `{"message":`+quote(message)+`}`)
}

func bedrockForm() form {
	start := awsEvent("messageStart", `{"role":"assistant"}`)
	delta := func(before, after string) func(string) string {
		return func(s string) string {
			return awsEvent("contentBlockDelta", `{"contentBlockIndex":0,"delta":`+before+quote(s)+after+`}`)
		}
	}
	begin := func(i int) string {
		return awsEvent("contentBlockStart", fmt.Sprintf(`{"contentBlockIndex":%d,"start":{"toolUse":{"toolUseId":"c%d","name":"ls"}}}`, i, i))
	}
	whole := func(content string) string {
		return `{"output":{"message":{"role":"assistant","content":[` + content + `]}},"stopReason":"end_turn"}`
	}
	return form{
		text:      streamed{start, delta(`{"text":`, `}`)},
		reasoning: streamed{start, delta(`{"reasoningContent":{"text":`, `}}`)},
		arguments: streamed{start + begin(0), delta(`{"toolUse":{"input":`, `}}`)},
		calls:     func(n int) string { return start + join(n, "", begin) },
		end:       awsEvent("contentBlockStop", `{"contentBlockIndex":0}`) + awsEvent("messageStop", `{"stopReason":"end_turn"}`),
		whole:     func(text string) string { return whole(`{"text":"` + text + `"}`) },
		wholeCalls: func(n int) string {
			return whole(join(n, ",", func(i int) string { return fmt.Sprintf(`{"toolUse":{"toolUseId":"c%d","name":"ls","input":{}}}`, i) }))
		},
		overloaded: awsException("serviceUnavailableException", "The engine is overloaded."),
		failed:     func(message string) string { return awsException("internalServerException", message) },
		models:     func(entries string) string { return `{"modelSummaries":[` + entries + `]}` },
		model:      `{"modelId":"m"}`,
		frame:      func(data string) string { return awsEvent("messageStart", data) },
	}
}
