// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package scripted

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
)

var (
	anthropicToolName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,128}$`)
	anthropicCallID   = regexp.MustCompile(`^[a-zA-Z0-9_-]+$`)
)

// maxCacheControls is how many blocks of a request may end a cached prefix.
const maxCacheControls = 4

func (r *anthropicRequest) validate() error {
	switch {
	case r.Model == "":
		return invalid("model", "Field required")
	case r.MaxTokens == nil:
		return invalid("max_tokens", "Field required")
	case *r.MaxTokens < 1:
		return invalid("max_tokens", "Input should be greater than or equal to 1")
	case r.Temperature != nil && (*r.Temperature < 0 || *r.Temperature > 1):
		return invalid("temperature", "range: 0..1")
	case len(r.Messages) == 0:
		return invalid("messages", "at least one message is required")
	}
	return firstError(r.validateThinking, r.validateTools, r.validateSystem, r.validateMessages, r.validateCaching)
}

func (r *anthropicRequest) validateThinking() error {
	if c := r.OutputConfig; c != nil && c.Effort != nil && !slices.Contains([]string{"low", "medium", "high", "xhigh", "max"}, *c.Effort) {
		return invalid("output_config.effort", "Input should be 'low', 'medium', 'high', 'xhigh' or 'max'")
	}
	t := r.Thinking
	if t == nil {
		return nil
	}
	switch t.Type {
	case "disabled", "adaptive":
		if t.BudgetTokens != nil {
			return extraInput("thinking." + t.Type + ".budget_tokens")
		}
	case "enabled":
		switch {
		case t.BudgetTokens == nil:
			return invalid("thinking.enabled.budget_tokens", "Field required")
		case *t.BudgetTokens < 1024:
			return invalid("thinking.enabled.budget_tokens", "Input should be greater than or equal to 1024")
		case *t.BudgetTokens >= *r.MaxTokens:
			return badRequest("", "`max_tokens` must be greater than `thinking.budget_tokens`. Please consult our documentation at https://docs.claude.com/en/docs/build-with-claude/extended-thinking#max-tokens-and-context-window-size")
		}
	default:
		return invalid("thinking", "Input tag '%s' found using 'type' does not match any of the expected tags: 'adaptive', 'disabled', 'enabled'", t.Type)
	}
	switch {
	case !t.enabled():
		return nil
	case r.Temperature != nil && *r.Temperature != 1:
		return badRequest("", "`temperature` may only be set to 1 when thinking is enabled or in adaptive mode.")
	case r.ToolChoice != nil && (r.ToolChoice.Type == "any" || r.ToolChoice.Type == "tool"):
		return badRequest("", "Thinking may not be enabled when tool_choice forces tool use.")
	}
	return nil
}

func (r *anthropicRequest) validateTools() error {
	names := make(map[string]bool, len(r.Tools))
	for i := range r.Tools {
		t := &r.Tools[i]
		path := fmt.Sprintf("tools.%d.custom", i)
		switch {
		case t.Type != nil && *t.Type != "custom":
			return invalid(fmt.Sprintf("tools.%d", i), "Input tag '%s' found using 'type' does not match any of the expected tags: 'custom'", *t.Type)
		case !anthropicToolName.MatchString(t.Name):
			return invalid(path+".name", "String should match pattern '^[a-zA-Z0-9_-]{1,128}$'")
		case names[t.Name]:
			return invalid("tools", "Tool names must be unique.")
		}
		names[t.Name] = true
		if err := validateInputSchema(path+".input_schema", t.InputSchema); err != nil {
			return err
		}
	}
	if r.ToolChoice == nil {
		return nil
	}
	switch {
	case len(r.Tools) == 0:
		return invalid("tool_choice", "tool_choice may only be specified while providing tools")
	case !slices.Contains([]string{"auto", "any", "tool", "none"}, r.ToolChoice.Type):
		return invalid("tool_choice", "Input tag '%s' found using 'type' does not match any of the expected tags: 'any', 'auto', 'none', 'tool'", r.ToolChoice.Type)
	case r.ToolChoice.Type == "tool" && !names[r.ToolChoice.Name]:
		return invalid("tool_choice", "Tool '%s' not found in provided tools", r.ToolChoice.Name)
	}
	return nil
}

func validateInputSchema(path string, schema json.RawMessage) error {
	if len(schema) == 0 {
		return invalid(path, "Field required")
	}
	if !isObject(schema) {
		return invalid(path, "Input should be a valid dictionary")
	}
	var fields struct {
		Type       any             `json:"type"`
		Properties json.RawMessage `json:"properties"`
		AnyOf      json.RawMessage `json:"anyOf"`
		OneOf      json.RawMessage `json:"oneOf"`
		AllOf      json.RawMessage `json:"allOf"`
	}
	if err := json.Unmarshal(schema, &fields); err != nil {
		return invalid(path, "JSON schema is invalid. It must match JSON Schema draft 2020-12 (https://json-schema.org/draft/2020-12).")
	}
	switch {
	case fields.Type == nil:
		return invalid(path+".type", "Field required")
	case fields.Type != "object":
		return invalid(path+".type", "Input should be 'object'")
	case fields.AnyOf != nil || fields.OneOf != nil || fields.AllOf != nil:
		return invalid(path, "input_schema does not support oneOf, allOf, or anyOf at the top level")
	case len(fields.Properties) > 0 && !isObject(fields.Properties) && string(fields.Properties) != "null":
		return invalid(path, "JSON schema is invalid. It must match JSON Schema draft 2020-12 (https://json-schema.org/draft/2020-12).")
	}
	return nil
}

func (r *anthropicRequest) validateSystem() error {
	for i := range r.System.blocks {
		b := &r.System.blocks[i]
		path := fmt.Sprintf("system.%d", i)
		if b.Type != "text" {
			return invalid(path+".type", "Input should be 'text'")
		}
		if err := b.validate(path); err != nil {
			return err
		}
	}
	return nil
}

// validateMessages checks each message, the order of roles, and the pairing of calls and results.
func (r *anthropicRequest) validateMessages() error {
	var calls []string // of the message before
	used := map[string]bool{}
	for i := range r.Messages {
		m := &r.Messages[i]
		path := fmt.Sprintf("messages.%d", i)
		if err := m.validateRole(i, r.Messages); err != nil {
			return err
		}
		if len(m.Content.blocks) == 0 {
			return invalid(path, "%s messages must have non-empty content", m.Role)
		}
		for j := range m.Content.blocks {
			if err := m.validateBlock(fmt.Sprintf("%s.content.%d", path, j), &m.Content.blocks[j]); err != nil {
				return err
			}
		}
		if err := m.validateResults(path, calls); err != nil {
			return err
		}
		calls = m.calls()
		for _, id := range calls {
			if used[id] {
				return invalid("messages", "`tool_use` ids must be unique")
			}
			used[id] = true
		}
	}
	if r.Messages[len(r.Messages)-1].Role == roleAssistant {
		return badRequest("", "This model does not support assistant message prefill. The conversation must end with a user message.")
	}
	return r.validateLoop()
}

func (m *anthropicMessage) validateRole(i int, all []anthropicMessage) error {
	switch {
	case m.Role == roleSystem:
		return invalid("messages", "Unexpected role \"system\". The Messages API accepts a top-level `system` parameter, not \"system\" as an input message role.")
	case m.Role != roleUser && m.Role != roleAssistant:
		return invalid("messages", "Unexpected role %q. Allowed roles are \"user\" or \"assistant\"", m.Role)
	case i == 0 && m.Role != roleUser:
		return invalid("messages", "first message must use the \"user\" role")
	case i > 0 && m.Role == all[i-1].Role:
		// The API merges such turns, but the same API on other clouds rejects them.
		return invalid("messages", "roles must alternate between \"user\" and \"assistant\", but found multiple %q roles in a row", m.Role)
	}
	return nil
}

// anthropicRoles are the types of blocks with the roles of the messages that may contain them.
func anthropicRoles() map[string][]string {
	return map[string][]string{
		"text": {roleUser, roleAssistant}, "image": {roleUser}, "tool_result": {roleUser},
		"tool_use": {roleAssistant}, "thinking": {roleAssistant}, "redacted_thinking": {roleAssistant},
	}
}

func (m *anthropicMessage) validateBlock(path string, b *anthropicBlock) error {
	roles, ok := anthropicRoles()[b.Type]
	if !ok {
		tags := slices.Sorted(maps.Keys(anthropicRoles()))
		return invalid(path, "Input tag '%s' found using 'type' does not match any of the expected tags: '%s'", b.Type, strings.Join(tags, "', '"))
	}
	if !slices.Contains(roles, m.Role) {
		return invalid(path, "`%s` blocks can only be in `%s` messages", b.Type, roles[0])
	}
	return b.validate(path)
}

func (b *anthropicBlock) validate(path string) error {
	allowed := map[string][]string{
		"text": {"text", "cache_control", "citations"}, "image": {"source", "cache_control"},
		"tool_use": {"id", "name", "input", "cache_control", "caller"}, "tool_result": {"tool_use_id", "content", "is_error", "cache_control"},
		"thinking": {"thinking", "signature"}, "redacted_thinking": {"data"},
	}
	if unknown := b.fields.unknown(append(allowed[b.Type], "type")...); unknown != "" {
		return extraInput(path + "." + b.Type + "." + unknown)
	}
	switch b.Type {
	case "text":
		return b.validateText(path)
	case "image":
		return b.validateImage(path + ".image.source")
	case "tool_use":
		return b.validateCall(path + ".tool_use")
	case "tool_result":
		return b.validateResult(path + ".tool_result")
	case "thinking":
		if b.Signature != signature("thinking", b.Thinking) {
			return invalid(path, "Invalid `signature` in `thinking` block")
		}
	case "redacted_thinking":
		if _, err := base64.StdEncoding.DecodeString(b.Data); err != nil || b.Data == "" {
			return invalid(path, "Invalid `data` in `redacted_thinking` block")
		}
	}
	return nil
}

func (b *anthropicBlock) validateText(path string) error {
	switch {
	case b.Text == "" && b.CacheControl != nil:
		return invalid(path, "cache_control cannot be set for empty text blocks")
	case b.Text == "":
		return invalid("messages", "text content blocks must be non-empty")
	case strings.TrimSpace(b.Text) == "":
		return invalid("messages", "text content blocks must contain non-whitespace text")
	}
	return nil
}

func (b *anthropicBlock) validateImage(path string) error {
	s := b.Source
	switch {
	case s == nil:
		return invalid(path, "Field required")
	case s.Type == "url" && strings.HasPrefix(s.URL, "https://"):
		return nil
	case s.Type == "url":
		return invalid(path+".url.url", "Only HTTPS URLs are supported.")
	case s.Type != "base64":
		return invalid(path, "Input tag '%s' found using 'type' does not match any of the expected tags: 'base64', 'url'", s.Type)
	case !slices.Contains(imageTypes(), s.MediaType):
		return invalid(path+".base64.media_type", "Input should be 'image/jpeg', 'image/png', 'image/gif' or 'image/webp'")
	}
	decoded, err := base64.StdEncoding.DecodeString(s.Data)
	switch {
	case err != nil:
		return invalid(path+".base64", "invalid base64 data")
	case len(decoded) == 0:
		return invalid(path+".base64.data", "image cannot be empty")
	case !slices.Contains(imageTypes(), http.DetectContentType(decoded)):
		return invalid(path+".base64.data", "Could not process image")
	case !isImage(s.MediaType, s.Data):
		return invalid(path+".base64.data", "The image was specified using the %s media type, but the image appears to be a %s image", s.MediaType, http.DetectContentType(decoded))
	}
	return nil
}

func (b *anthropicBlock) validateCall(path string) error {
	switch {
	case !anthropicCallID.MatchString(b.ID):
		return invalid(path+".id", "String should match pattern '^[a-zA-Z0-9_-]+$'")
	case b.Name == "":
		return invalid(path+".name", "String should have at least 1 character")
	case len(b.Name) > 200:
		return invalid(path+".name", "String should have at most 200 characters")
	case len(b.Input) == 0:
		return invalid(path+".input", "Field required")
	case !isObject(b.Input):
		return invalid(path+".input", "Input should be a valid dictionary")
	}
	return nil
}

func (b *anthropicBlock) validateResult(path string) error {
	if b.ToolUseID == "" {
		return invalid(path+".tool_use_id", "Field required")
	}
	for i := range b.Content.blocks {
		inner := &b.Content.blocks[i]
		at := fmt.Sprintf("%s.content.%d", path, i)
		if inner.Type != "text" && inner.Type != "image" {
			return invalid(at, "Input tag '%s' found using 'type' does not match any of the expected tags: 'image', 'text'", inner.Type)
		}
		if inner.Type == "text" && inner.fields == nil {
			continue // a result may be an empty string
		}
		if err := inner.validate(at); err != nil {
			return err
		}
	}
	return nil
}

func (m *anthropicMessage) calls() []string {
	var ids []string
	for i := range m.Content.blocks {
		if b := &m.Content.blocks[i]; b.Type == "tool_use" {
			ids = append(ids, b.ID)
		}
	}
	return ids
}

// validateResults checks that a message begins with the results of the previous message's calls, and has no others.
func (m *anthropicMessage) validateResults(path string, calls []string) error {
	answered := map[string]bool{}
	leading := true
	for i := range m.Content.blocks {
		b := &m.Content.blocks[i]
		if b.Type != "tool_result" {
			leading = false
			continue
		}
		at := fmt.Sprintf("%s.content.%d", path, i)
		switch {
		case !slices.Contains(calls, b.ToolUseID):
			return invalid(at, "unexpected `tool_use_id` found in `tool_result` blocks: %s. Each `tool_result` block must have a corresponding `tool_use` block in the previous message.", b.ToolUseID)
		case answered[b.ToolUseID]:
			return invalid(at, "each tool_use must have a single result. Found multiple `tool_result` blocks with id: %s", b.ToolUseID)
		case leading:
			answered[b.ToolUseID] = true
		}
	}
	missing := slices.DeleteFunc(slices.Clone(calls), func(id string) bool { return answered[id] })
	if len(missing) > 0 {
		return invalid(path, "`tool_use` ids were found without `tool_result` blocks immediately after: %s. Each `tool_use` block must have a corresponding `tool_result` block in the next message.", strings.Join(missing, ", "))
	}
	return nil
}

// validateLoop checks that the last tool loop begins with thinking if that is enabled.
func (r *anthropicRequest) validateLoop() error {
	if !r.Thinking.enabled() {
		return nil
	}
	first := -1
	for i := len(r.Messages) - 1; i > 0 && r.Messages[i].Content.blocks[0].Type == "tool_result"; i -= 2 {
		first = i - 1
	}
	if first < 0 {
		return nil
	}
	kind := r.Messages[first].Content.blocks[0].Type
	if kind == "thinking" || kind == "redacted_thinking" {
		return nil
	}
	return invalid(fmt.Sprintf("messages.%d.content.0.type", first), "Expected `thinking` or `redacted_thinking`, but found `%s`. When `thinking` is enabled, a final `assistant` message must start with a thinking block (preceding the lastmost set of `tool_use` and `tool_result` blocks). To avoid this requirement, disable `thinking`.", kind)
}

func (r *anthropicRequest) validateCaching() error {
	controls := []*cacheControl{r.CacheControl}
	for i := range r.Tools {
		controls = append(controls, r.Tools[i].CacheControl)
	}
	controls = append(controls, r.System.cacheControls()...)
	for i := range r.Messages {
		controls = append(controls, r.Messages[i].Content.cacheControls()...)
	}
	count := 0
	for _, c := range controls {
		switch {
		case c == nil:
			continue
		case c.Type != "ephemeral":
			return invalid("cache_control", "Input tag '%s' found using 'type' does not match any of the expected tags: 'ephemeral'", c.Type)
		case c.TTL != nil && *c.TTL != "5m" && *c.TTL != "1h":
			return invalid("cache_control.ephemeral.ttl", "Input should be '5m' or '1h'")
		}
		count++
	}
	if count > maxCacheControls {
		return badRequest("", "A maximum of %d blocks with cache_control may be provided. Found %d.", maxCacheControls, count)
	}
	return nil
}

func (c anthropicContent) cacheControls() []*cacheControl {
	var all []*cacheControl
	for i := range c.blocks {
		all = append(all, c.blocks[i].CacheControl)
		all = append(all, c.blocks[i].Content.cacheControls()...)
	}
	return all
}
