// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package scripted

import (
	"bytes"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream"
	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream/eventstreamapi"
)

// awsEventStream is the content type of AWS streams.
const awsEventStream = "application/vnd.amazon.eventstream"

// awsFrame returns a message of an event stream of AWS: an event, or an exception.
func awsFrame(messageType, nameHeader, name string, payload []byte) []byte {
	message := eventstream.Message{Payload: payload}
	for _, header := range [][2]string{
		{nameHeader, name}, {eventstreamapi.ContentTypeHeader, "application/json"}, {eventstreamapi.MessageTypeHeader, messageType},
	} {
		message.Headers.Set(header[0], eventstream.StringValue(header[1]))
	}
	var b bytes.Buffer
	if err := eventstream.NewEncoder().Encode(&b, message); err != nil {
		panic(err) // the headers are short
	}
	return b.Bytes()
}

func awsEvent(name string, fields map[string]any) []byte {
	return awsFrame(eventstreamapi.EventMessageType, eventstreamapi.EventTypeHeader, name, encode(fields))
}

// malformedEvent is an event whose payload is not JSON.
func malformedEvent() []byte {
	return awsFrame(eventstreamapi.EventMessageType, eventstreamapi.EventTypeHeader, "contentBlockDelta", []byte(`{"delta":{"text":`))
}

func (*bedrockRequest) contentType() string { return awsEventStream }

func (*bedrockRequest) failedFrame(e *apiError) []byte {
	_, body := bedrock{}.failed(e)
	name := exception(e)
	return awsFrame(eventstreamapi.ExceptionMessageType, eventstreamapi.ExceptionTypeHeader, strings.ToLower(name[:1])+name[1:], encode(body))
}

// bedrockFiltered is the stop reason of a filtered reply, and of a refusal, which the API does not have.
const bedrockFiltered = "content_filtered"

// bedrockUsage excludes cached tokens from the input. The API does not count reasoning separately.
func bedrockUsage(u *tokenUsage) map[string]any {
	return map[string]any{
		"inputTokens": u.prompt - u.cached - u.written, "cacheReadInputTokens": u.cached, "cacheWriteInputTokens": u.written,
		"outputTokens": u.completion, "totalTokens": u.prompt + u.completion,
	}
}

// reasons reports whether a reply begins with reasoning. If the request enables thinking, every reply does.
func (r *bedrockRequest) reasons(p *response) bool {
	return p.reasoning != "" || r.thinking().enabled()
}

func (r *bedrockRequest) plain(p *response) any {
	blocks := []map[string]any{}
	if r.reasons(p) {
		blocks = append(blocks, map[string]any{"reasoningContent": map[string]any{
			"reasoningText": map[string]any{"text": p.reasoning, "signature": signature("bedrock", p.reasoning)},
		}})
	}
	if p.text != "" {
		blocks = append(blocks, map[string]any{"text": p.text})
	}
	for _, call := range p.calls {
		blocks = append(blocks, map[string]any{"toolUse": map[string]any{"toolUseId": call.id, "name": call.name, "input": call.input()}})
	}
	body := map[string]any{
		"output":     map[string]any{"message": map[string]any{"role": roleAssistant, "content": blocks}},
		"stopReason": p.stopReason(bedrockFiltered), "metrics": map[string]any{"latencyMs": 1},
	}
	if p.usage != nil {
		body["usage"] = bedrockUsage(p.usage)
	}
	return body
}

func (r *bedrockRequest) stream(p *response) [][]byte {
	frames := [][]byte{awsEvent("messageStart", map[string]any{"role": roleAssistant})}
	index := 0
	delta := func(fields map[string]any) {
		frames = append(frames, awsEvent("contentBlockDelta", map[string]any{"contentBlockIndex": index, "delta": fields}))
	}
	stop := func() {
		frames = append(frames, awsEvent("contentBlockStop", map[string]any{"contentBlockIndex": index}))
		index++
	}
	if r.reasons(p) {
		for _, piece := range split(p.reasoning, p.script.ChunkSize) {
			delta(map[string]any{"reasoningContent": map[string]any{"text": piece}})
		}
		delta(map[string]any{"reasoningContent": map[string]any{"signature": signature("bedrock", p.reasoning)}})
		stop()
	}
	if p.text != "" {
		for _, piece := range split(p.text, p.script.ChunkSize) {
			delta(map[string]any{"text": piece})
		}
		stop()
	}
	for _, call := range p.calls {
		frames = append(frames, awsEvent("contentBlockStart", map[string]any{
			"contentBlockIndex": index, "start": map[string]any{"toolUse": map[string]any{"toolUseId": call.id, "name": call.name}},
		}))
		for _, piece := range split(call.arguments, p.script.ChunkSize) {
			delta(map[string]any{"toolUse": map[string]any{"input": piece}})
		}
		stop()
	}
	// The end and the metadata are one frame, because a fault can only omit the last frame of a stream.
	end := awsEvent("messageStop", map[string]any{"stopReason": p.stopReason(bedrockFiltered)})
	if p.usage != nil {
		end = append(end, awsEvent("metadata", map[string]any{"usage": bedrockUsage(p.usage), "metrics": map[string]any{"latencyMs": 1}})...)
	}
	return append(frames, end)
}
