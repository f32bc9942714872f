// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package scripted_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime/document"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime/types"

	"github.com/nestor-dev/nestor/internal/model/scripted"
)

const bedrockHello = `{"messages":[{"role":"user","content":[{"text":"hi"}]}]}`

func sdk(url, secret string) *bedrockruntime.Client {
	return bedrockruntime.New(bedrockruntime.Options{
		Region: "eu-central-1", BaseEndpoint: &url, RetryMaxAttempts: 1,
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "AKIATEST", SecretAccessKey: secret, SessionToken: "session"}, nil
		}),
	})
}

// TestSDKOfAWS runs a conversation with the client of AWS, which signs its requests, streamed and not.
func TestSDKOfAWS(t *testing.T) {
	_, url := serve(t, scripted.Options{Scripts: []*scripted.Script{parse(t, talk)}, APIKey: "the-secret"})
	client := sdk(url, "the-secret")
	user := func(text string) types.Message {
		return types.Message{Role: types.ConversationRoleUser, Content: []types.ContentBlock{&types.ContentBlockMemberText{Value: text}}}
	}
	tools := &types.ToolConfiguration{Tools: []types.Tool{&types.ToolMemberToolSpec{Value: types.ToolSpecification{
		Name: aws.String("ls"), InputSchema: &types.ToolInputSchemaMemberJson{Value: document.NewLazyDocument(map[string]any{"type": "object"})},
	}}}}
	name, question := aws.String("eu.anthropic.claude:0/x"), []types.Message{user("How many files?")}
	if _, err := client.Converse(t.Context(), &bedrockruntime.ConverseInput{ModelId: name, Messages: question}); err == nil || !strings.Contains(err.Error(), "ResourceNotFoundException") {
		t.Errorf("an unknown model: %v", err)
	}
	name = aws.String("scripted")
	whole, err := client.Converse(t.Context(), &bedrockruntime.ConverseInput{ModelId: name, Messages: question, ToolConfig: tools})
	if err != nil {
		t.Fatal(err)
	}
	message := whole.Output.(*types.ConverseOutputMemberMessage).Value
	call, ok := message.Content[1].(*types.ContentBlockMemberToolUse)
	if !ok || whole.StopReason != types.StopReasonToolUse || *whole.Usage.CacheReadInputTokens != 10 || *whole.Usage.InputTokens != 20 || *call.Value.Name != "ls" {
		t.Errorf("whole: %+v", whole)
	}
	stream, err := client.ConverseStream(t.Context(), &bedrockruntime.ConverseStreamInput{ModelId: name, Messages: question, ToolConfig: tools})
	if err != nil {
		t.Fatal(err)
	}
	var text, input strings.Builder
	var stop types.StopReason
	for event := range stream.GetStream().Events() {
		switch e := event.(type) {
		case *types.ConverseStreamOutputMemberContentBlockDelta:
			switch d := e.Value.Delta.(type) {
			case *types.ContentBlockDeltaMemberText:
				text.WriteString(d.Value)
			case *types.ContentBlockDeltaMemberToolUse:
				input.WriteString(*d.Value.Input)
			}
		case *types.ConverseStreamOutputMemberMessageStop:
			stop = e.Value.StopReason
		}
	}
	if err := stream.GetStream().Err(); err != nil || text.String() != "I look." || input.String() != `{"path":"."}{"path":"go.mod"}` || stop != types.StopReasonToolUse {
		t.Errorf("stream: %q, %q, %s, %v", text.String(), input.String(), stop, err)
	}
	_, err = client.Converse(t.Context(), &bedrockruntime.ConverseInput{ModelId: name, Messages: []types.Message{user("too fast")}})
	if throttled := new(types.ThrottlingException); !errors.As(err, &throttled) || throttled.ErrorMessage() != "Slow down." {
		t.Errorf("error: %v", err)
	}
	if _, err := sdk(url, "wrong").Converse(t.Context(), &bedrockruntime.ConverseInput{ModelId: name, Messages: question}); err == nil || !strings.Contains(err.Error(), "InvalidSignatureException") {
		t.Errorf("a wrong signature: %v", err)
	}
}

func TestBedrockWireIsStrict(t *testing.T) {
	body := func(messages string) string { return `{"messages":[` + messages + `]}` }
	const (
		hi   = `{"role":"user","content":[{"text":"hi"}]}`
		call = `{"role":"assistant","content":[{"toolUse":{"toolUseId":"a","name":"ls","input":{}}}]}`
		tool = `"toolConfig":{"tools":[{"toolSpec":{"name":"ls","inputSchema":{"json":{"type":"object"}}}}]}`
	)
	result := `{"role":"user","content":[{"toolResult":{"toolUseId":"a","content":[{"text":"x"}]}}]}`
	testStrict(t, wireTest{path: "/model/m/converse", form: `"message":`}, map[string]refusal{
		"not JSON":            {`{`, "Malformed input request"},
		"unknown field":       {`{"model":"m","messages":[` + hi + `]}`, "extraneous key [model]"},
		"no messages":         {body(""), "must start with a user message"},
		"assistant first":     {body(call), "must start with a user message"},
		"same role twice":     {body(hi + "," + hi), "must alternate"},
		"blank text":          {body(`{"role":"user","content":[{"text":" "}]}`), "is blank"},
		"empty content":       {body(`{"role":"user","content":[]}`), "is empty"},
		"two kinds":           {body(`{"role":"user","content":[{"text":"a","cachePoint":{"type":"default"}}]}`), "must set one of the following keys"},
		"no toolConfig":       {body(hi + "," + call + "," + result), "toolConfig field must be defined"},
		"no result":           {`{"messages":[` + hi + "," + call + "," + hi + "]," + tool + "}", "Expected toolResult blocks"},
		"a result too many":   {body(hi + `,{"role":"assistant","content":[{"text":"a"}]},` + result), "exceeds the number of toolUse blocks"},
		"prefill":             {body(hi + `,{"role":"assistant","content":[{"text":"a"}]}`), "prefill"},
		"forged reasoning":    {body(hi + `,{"role":"assistant","content":[{"reasoningContent":{"reasoningText":{"text":"a","signature":"b"}}}]},` + hi), "Invalid `signature`"},
		"wrong image":         {body(`{"role":"user","content":[{"image":{"format":"jpeg","source":{"bytes":"` + pixel + `"}}}]}`), "does not match"},
		"budget":              {`{"messages":[` + hi + `],"additionalModelRequestFields":{"thinking":{"type":"enabled","budget_tokens":9}}}`, "greater than or equal to 1024"},
		"loop without reason": {`{"messages":[` + hi + "," + call + "," + result + "]," + tool + `,"additionalModelRequestFields":{"thinking":{"type":"enabled","budget_tokens":1024}}}`, "must start with a thinking block"},
		"choice none":         {`{"messages":[` + hi + `],"toolConfig":{"tools":[{"toolSpec":{"name":"ls","inputSchema":{"json":{"type":"object"}}}}],"toolChoice":{"none":{}}}}`, "is not supported"},
		"five cache points":   {`{"messages":[` + hi + `],"system":[{"text":"a"},{"cachePoint":{"type":"default"}},{"cachePoint":{"type":"default"}},{"cachePoint":{"type":"default"}},{"cachePoint":{"type":"default"}},{"cachePoint":{"type":"default"}}]}`, "A maximum of 4"},
	}, map[string]string{
		"a tool loop": `{"messages":[` + hi + "," + call + "," + result + "]," + tool + "}",
		"a GIF":       body(`{"role":"user","content":[{"image":{"format":"gif","source":{"bytes":"` + gif + `"}}}]}`),
	})
}
