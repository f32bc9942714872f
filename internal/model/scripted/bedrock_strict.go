// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package scripted

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
)

var (
	bedrockName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)
	// bedrockFormats are the formats of images.
	bedrockFormats = []string{"png", "jpeg", "gif", "webp"}
)

// validate rejects what the real API rejects, for a model of Anthropic.
func (r *bedrockRequest) validate() error {
	if c := r.InferenceConfig; c != nil {
		switch {
		case c.MaxTokens != nil && *c.MaxTokens < 1:
			return validationError("inferenceConfig.maxTokens", "Member must have value greater than or equal to 1")
		case c.Temperature != nil && (*c.Temperature < 0 || *c.Temperature > 1):
			return validationError("inferenceConfig.temperature", "Member must have value less than or equal to 1")
		}
	}
	return firstError(r.validateThinking, r.validateTools, r.validateSystem, r.validateMessages, r.validateCachePoints)
}

// modelError returns an error that the model reports, not the service.
func modelError(format string, args ...any) *apiError {
	return badRequest("", "The model returned the following errors: %s", fmt.Sprintf(format, args...))
}

func (r *bedrockRequest) validateThinking() error {
	t := r.thinking()
	if t == nil {
		return nil
	}
	switch {
	case !slices.Contains([]string{"enabled", "adaptive", "disabled"}, t.Type):
		return modelError("thinking: Input tag '%s' found using 'type' does not match any of the expected tags: 'adaptive', 'disabled', 'enabled'", t.Type)
	case t.Type == "enabled" && (t.BudgetTokens == nil || *t.BudgetTokens < 1024):
		return modelError("thinking.enabled.budget_tokens: Input should be greater than or equal to 1024")
	case !t.enabled():
		return nil
	}
	if c := r.InferenceConfig; c != nil {
		switch {
		case c.MaxTokens != nil && t.BudgetTokens != nil && *t.BudgetTokens >= *c.MaxTokens:
			return modelError("`max_tokens` must be greater than `thinking.budget_tokens`.")
		case c.Temperature != nil && *c.Temperature != 1:
			return modelError("`temperature` may only be set to 1 when thinking is enabled.")
		}
	}
	if c := r.ToolConfig; c != nil && (c.ToolChoice["any"] != nil || c.ToolChoice["tool"] != nil) {
		return modelError("Thinking may not be enabled when tool_choice forces tool use.")
	}
	return nil
}

func (r *bedrockRequest) validateTools() error {
	if r.ToolConfig == nil {
		return nil
	}
	if len(r.ToolConfig.Tools) == 0 {
		return validationError("toolConfig.tools", "Member must have length greater than or equal to 1")
	}
	names := map[string]bool{}
	for i := range r.ToolConfig.Tools {
		spec := r.ToolConfig.Tools[i].ToolSpec
		path := fmt.Sprintf("toolConfig.tools.%d.member.toolSpec", i+1)
		switch {
		case spec == nil && r.ToolConfig.Tools[i].CachePoint == nil:
			return validationError(path, "Member must not be null")
		case spec == nil:
			continue
		case !bedrockName.MatchString(spec.Name):
			return validationError(path+".name", "Member must satisfy regular expression pattern: [a-zA-Z0-9_-]+")
		case spec.Description != nil && *spec.Description == "":
			return validationError(path+".description", "Member must have length greater than or equal to 1")
		case names[spec.Name]:
			return modelError("tools: Tool names must be unique.")
		}
		names[spec.Name] = true
		if err := validateInputSchema(path+".inputSchema.json", spec.InputSchema.JSON); err != nil {
			return err
		}
	}
	for choice := range r.ToolConfig.ToolChoice {
		if !slices.Contains([]string{"auto", "any", "tool"}, choice) {
			return badRequest("", "The toolChoice %q is not supported.", choice)
		}
	}
	return nil
}

func (r *bedrockRequest) validateSystem() error {
	for i := range r.System {
		b := &r.System[i]
		if b.CachePoint == nil && strings.TrimSpace(b.text()) == "" {
			return badRequest("", "The text field in the SystemContentBlock object at system.%d is blank. Add text to the text field, and try again.", i)
		}
	}
	return nil
}

// validateMessages checks each message, the order of roles, and the pairing of calls and results.
func (r *bedrockRequest) validateMessages() error {
	if len(r.Messages) == 0 {
		return badRequest("", "A conversation must start with a user message. Try again with a conversation that starts with a user message.")
	}
	var calls []string // of the message before
	used := map[string]bool{}
	for i := range r.Messages {
		m := &r.Messages[i]
		if err := m.validateRole(i, r.Messages); err != nil {
			return err
		}
		for j := range m.Content {
			if err := m.Content[j].validate(fmt.Sprintf("messages.%d.content.%d", i, j), m.Role); err != nil {
				return err
			}
		}
		if err := m.validateResults(i, calls); err != nil {
			return err
		}
		calls = nil
		for j := range m.Content {
			call := m.Content[j].ToolUse
			switch {
			case call == nil:
				continue
			case r.ToolConfig == nil:
				return badRequest("", "The toolConfig field must be defined when using toolUse and toolResult content blocks.")
			case used[call.ID]:
				return modelError("messages: `tool_use` ids must be unique")
			}
			used[call.ID] = true
			calls = append(calls, call.ID)
		}
	}
	if r.Messages[len(r.Messages)-1].Role == roleAssistant {
		return modelError("This model does not support assistant message prefill. The conversation must end with a user message.")
	}
	return r.validateLoop()
}

func (m *bedrockMessage) validateRole(i int, all []bedrockMessage) error {
	switch {
	case m.Role != roleUser && m.Role != roleAssistant:
		return validationError(fmt.Sprintf("messages.%d.member.role", i+1), "Member must satisfy enum value set: [user, assistant]")
	case i == 0 && m.Role != roleUser:
		return badRequest("", "A conversation must start with a user message. Try again with a conversation that starts with a user message.")
	case i > 0 && m.Role == all[i-1].Role:
		return badRequest("", "A conversation must alternate between user and assistant roles. Make sure the conversation alternates between user and assistant roles and try again.")
	case len(m.Content) == 0:
		return badRequest("", "The content field in the Message object at messages.%d is empty. Add a ContentBlock object to the content field and try again.", i)
	}
	return nil
}

// validate checks a block of a message with a role, or of a result, whose role is empty.
func (b *bedrockBlock) validate(path, role string) error {
	if len(b.fields) != 1 {
		return badRequest("", "ContentBlock object at %s must set one of the following keys: text, image, toolUse, toolResult, document, video, cachePoint, reasoningContent.", path)
	}
	switch {
	case b.Text != nil && strings.TrimSpace(*b.Text) == "":
		return badRequest("", "The text field in the ContentBlock object at %s is blank. Add text to the text field, and try again.", path)
	case b.Image != nil && role == roleAssistant, b.ToolResult != nil && role != roleUser:
		return badRequest("", "The conversation has a block at %s that is not allowed in messages with the role %s.", path, role)
	case (b.ToolUse != nil || b.ReasoningContent != nil) && role != roleAssistant:
		return badRequest("", "User messages cannot contain toolUse or reasoningContent: %s.", path)
	case b.Image != nil:
		return b.Image.validate(path + ".image")
	case b.ToolUse != nil:
		return b.ToolUse.validate(path + ".toolUse")
	case b.ToolResult != nil:
		return b.ToolResult.validate(path + ".toolResult")
	case b.ReasoningContent != nil:
		return b.ReasoningContent.validate(path)
	}
	return nil
}

func (i *bedrockImage) validate(path string) error {
	switch {
	case !slices.Contains(bedrockFormats, i.Format):
		return validationError(path+".format", "Member must satisfy enum value set: [png, jpeg, gif, webp]")
	case http.DetectContentType(i.Source.Bytes) != "image/"+i.Format:
		return modelError("%s: Image does not match the provided media type image/%s", path, i.Format)
	}
	return nil
}

func (c *bedrockCall) validate(path string) error {
	switch {
	case !bedrockName.MatchString(c.ID):
		return validationError(path+".toolUseId", "Member must satisfy regular expression pattern: [a-zA-Z0-9_-]+")
	case !bedrockName.MatchString(c.Name):
		return validationError(path+".name", "Member must satisfy regular expression pattern: [a-zA-Z0-9_-]+")
	case !isObject(c.Input):
		return badRequest("", "The format of the value at %s.input is invalid. Provide a json object for the field and try again.", path)
	}
	return nil
}

func (r *bedrockResult) validate(path string) error {
	if r.Status != nil && *r.Status != "success" && *r.Status != "error" {
		return validationError(path+".status", "Member must satisfy enum value set: [success, error]")
	}
	for i := range r.Content {
		if err := r.Content[i].validate(fmt.Sprintf("%s.content.%d", path, i), ""); err != nil {
			return err
		}
	}
	return nil
}

func (r *bedrockReasoning) validate(path string) error {
	switch text := r.ReasoningText; {
	case text != nil && text.Signature != signature("bedrock", text.Text):
		return modelError("%s: Invalid `signature` in `thinking` block", path)
	case text == nil && len(r.RedactedContent) == 0:
		return modelError("%s: Invalid `data` in `redacted_thinking` block", path)
	}
	return nil
}

// validateResults checks that a message begins with the results of the previous message's calls, and has no others.
func (m *bedrockMessage) validateResults(at int, calls []string) error {
	answered := map[string]bool{}
	leading := true
	for i := range m.Content {
		result := m.Content[i].ToolResult
		if result == nil {
			leading = false
			continue
		}
		switch {
		case !slices.Contains(calls, result.ID):
			return badRequest("", "The number of toolResult blocks at messages.%d.content exceeds the number of toolUse blocks of previous turn.", at)
		case answered[result.ID]:
			return badRequest("", "The toolResult blocks at messages.%d.content contain duplicate Ids: %s", at, result.ID)
		case leading:
			answered[result.ID] = true
		}
	}
	for _, id := range calls {
		if !answered[id] {
			return badRequest("", "Expected toolResult blocks at messages.%d.content for the following Ids: %s", at, id)
		}
	}
	return nil
}

// validateLoop checks that the last tool loop begins with reasoning if thinking is enabled.
func (r *bedrockRequest) validateLoop() error {
	first := -1
	for i := len(r.Messages) - 1; i > 0 && r.Messages[i].Content[0].ToolResult != nil; i -= 2 {
		first = i - 1
	}
	if !r.thinking().enabled() || first < 0 || r.Messages[first].Content[0].ReasoningContent != nil {
		return nil
	}
	return modelError("messages.%d.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`. When `thinking` is enabled, a final `assistant` message must start with a thinking block.", first)
}

func (r *bedrockRequest) validateCachePoints() error {
	var points []*bedrockCachePoint
	if r.ToolConfig != nil {
		for i := range r.ToolConfig.Tools {
			points = append(points, r.ToolConfig.Tools[i].CachePoint)
		}
	}
	for i := range r.System {
		points = append(points, r.System[i].CachePoint)
	}
	for i := range r.Messages {
		for j := range r.Messages[i].Content {
			points = append(points, r.Messages[i].Content[j].CachePoint)
		}
	}
	count := 0
	for _, p := range points {
		switch {
		case p == nil:
			continue
		case p.Type != "default":
			return validationError("cachePoint.type", "Member must satisfy enum value set: [default]")
		}
		count++
	}
	if count > maxCacheControls {
		return modelError("A maximum of %d blocks with cache_control may be provided. Found %d.", maxCacheControls, count)
	}
	return nil
}
