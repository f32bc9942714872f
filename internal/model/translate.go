// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/shared"
)

// translate turns a request into the parameters of the API.
func translate(req Request, spoken dialect) (openai.ChatCompletionNewParams, error) {
	params := openai.ChatCompletionNewParams{Model: req.Model, Messages: translateMessages(req.Messages)}
	if !spoken.noStreamOptions {
		params.StreamOptions.IncludeUsage = param.NewOpt(true)
	}
	if req.Temperature != nil {
		params.Temperature = param.NewOpt(*req.Temperature)
	}
	switch {
	case req.MaxOutputTokens <= 0:
	case spoken.completionLimit:
		params.MaxCompletionTokens = param.NewOpt(req.MaxOutputTokens)
	default:
		params.MaxTokens = param.NewOpt(req.MaxOutputTokens)
	}
	if req.ToolChoice != "" {
		params.ToolChoice.OfAuto = param.NewOpt(req.ToolChoice)
	}
	for _, t := range req.Tools {
		function := shared.FunctionDefinitionParam{Name: t.Name}
		if t.Description != "" {
			function.Description = param.NewOpt(t.Description)
		}
		if len(t.Parameters) > 0 {
			if err := json.Unmarshal(t.Parameters, &function.Parameters); err != nil {
				return params, fmt.Errorf("the schema of tool %s is not a JSON object: %w", t.Name, err)
			}
		}
		params.Tools = append(params.Tools, openai.ChatCompletionFunctionTool(function))
	}
	return params, nil
}

func translateMessages(messages []Message) []openai.ChatCompletionMessageParamUnion {
	out := make([]openai.ChatCompletionMessageParamUnion, 0, len(messages))
	var shown []openai.ChatCompletionContentPartUnionParam // images of tool results that are still to be shown
	for i, m := range messages {
		switch m.Role {
		case RoleSystem:
			out = append(out, openai.SystemMessage(m.Text))
		case RoleAssistant:
			out = append(out, assistantMessage(m))
		case RoleTool:
			out = append(out, openai.ToolMessage(m.Text, m.ToolCallID))
			shown = append(shown, toolImages(m)...)
		default:
			out = append(out, userMessage(m))
		}
		// A tool message takes text only, and nothing may stand between the answers to one message's calls: the images
		// follow the last of them as a message of their own.
		if answered := i+1 == len(messages) || messages[i+1].Role != RoleTool; answered && len(shown) > 0 {
			out = append(out, openai.UserMessage(shown))
			shown = nil
		}
	}
	return out
}

func userMessage(m Message) openai.ChatCompletionMessageParamUnion {
	if len(m.Images) == 0 {
		return openai.UserMessage(m.Text)
	}
	var parts []openai.ChatCompletionContentPartUnionParam
	if m.Text != "" {
		parts = append(parts, openai.TextContentPart(m.Text))
	}
	return openai.UserMessage(append(parts, imageParts(m.Images)...))
}

func toolImages(m Message) []openai.ChatCompletionContentPartUnionParam {
	if len(m.Images) == 0 {
		return nil
	}
	caption := openai.TextContentPart("Image result of tool call " + m.ToolCallID + ":")
	return slices.Insert(imageParts(m.Images), 0, caption)
}

func imageParts(images []Image) []openai.ChatCompletionContentPartUnionParam {
	parts := make([]openai.ChatCompletionContentPartUnionParam, 0, len(images))
	for _, image := range images {
		data := "data:" + image.MediaType + ";base64," + base64.StdEncoding.EncodeToString(image.Data)
		parts = append(parts, openai.ImageContentPart(openai.ChatCompletionContentPartImageImageURLParam{URL: data}))
	}
	return parts
}

func assistantMessage(m Message) openai.ChatCompletionMessageParamUnion {
	var assistant openai.ChatCompletionAssistantMessageParam
	// An assistant message with nothing in it is refused, but an empty reply is a fact of the history.
	if m.Text != "" || len(m.ToolCalls) == 0 && m.Refusal == "" {
		text := m.Text
		if text == "" {
			text = "(no answer)"
		}
		assistant.Content.OfString = param.NewOpt(text)
	}
	if m.Refusal != "" {
		assistant.Refusal = param.NewOpt(m.Refusal)
	}
	for _, call := range m.ToolCalls {
		function := openai.ChatCompletionMessageFunctionToolCallFunctionParam{Name: sendableName(call.Name), Arguments: sendableArguments(call)}
		assistant.ToolCalls = append(assistant.ToolCalls, openai.ChatCompletionMessageToolCallUnionParam{
			OfFunction: &openai.ChatCompletionMessageFunctionToolCallParam{ID: call.ID, Function: function},
		})
	}
	return openai.ChatCompletionMessageParamUnion{OfAssistant: &assistant}
}

var badNameCharacters = regexp.MustCompile(`[^a-zA-Z0-9_-]`)

// sendableName makes a name that a model invented fit for the history: a provider that let the model write it still
// refuses to read it.
func sendableName(name string) string {
	name = badNameCharacters.ReplaceAllString(name, "_")
	if name == "" {
		return "unnamed"
	}
	return name[:min(len(name), 64)]
}

// sendableArguments does the same for arguments that are not JSON, on which servers with chat templates choke. The
// model still sees what it wrote.
func sendableArguments(call ToolCall) string {
	if call.ArgumentsError == "" {
		return call.Arguments
	}
	wrapped, err := json.Marshal(map[string]string{"invalid_arguments": call.Arguments})
	if err != nil {
		return "{}"
	}
	return string(wrapped)
}
