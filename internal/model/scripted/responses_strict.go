// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package scripted

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

const maxCallID = 64

func (r *responsesRequest) validate() error {
	switch {
	case r.Model == "":
		return missingParameter("model")
	case r.PreviousResponseID != nil:
		e := badRequest("previous_response_id", "Previous response with id '%s' not found.", *r.PreviousResponseID)
		e.code = "previous_response_not_found"
		return e
	case !r.Input.set:
		return missingParameter("input")
	case len(r.Input.items) == 0:
		return invalidValue("input", "Invalid 'input': empty array. Expected an array with minimum length 1, but got an empty array instead.")
	case r.MaxOutputTokens != nil && *r.MaxOutputTokens < 16:
		e := badRequest("max_output_tokens", "Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16, but got %d instead.", *r.MaxOutputTokens)
		e.code = "integer_below_min_value"
		return e
	case r.Temperature != nil && (*r.Temperature < 0 || *r.Temperature > 2):
		return invalidValue("temperature", "Invalid 'temperature': %v is not between 0 and 2.", *r.Temperature)
	case r.ToolChoice != nil && string(r.ToolChoice) != `"none"` && string(r.ToolChoice) != `"auto"` && len(r.Tools) == 0:
		return invalidValue("tool_choice", "Tool choice %s requires 'tools'.", r.ToolChoice)
	}
	return firstError(r.validateOptions, r.validateTools, r.validateItems, r.validatePairs, r.validateReasoning)
}

func (r *responsesRequest) validateItems() error {
	for i := range r.Input.items {
		if err := r.Input.items[i].validate(fmt.Sprintf("input[%d]", i)); err != nil {
			return err
		}
	}
	return nil
}

func oneOf(path, value string, supported ...string) error {
	if slices.Contains(supported, value) {
		return nil
	}
	return invalidValue(path, "Invalid value: '%s'. Supported values are: '%s'.", value, strings.Join(supported, "', '"))
}

func (r *responsesRequest) validateOptions() error {
	for i, value := range r.Include {
		err := oneOf(fmt.Sprintf("include[%d]", i), value, "code_interpreter_call.outputs", "computer_call_output.output.image_url",
			"file_search_call.results", "message.input_image.image_url", "message.output_text.logprobs", "reasoning.encrypted_content", "web_search_call.action.sources", "web_search_call.results")
		if err != nil {
			return err
		}
	}
	if r.Reasoning == nil {
		return nil
	}
	if effort := r.Reasoning.Effort; effort != nil {
		if err := oneOf("reasoning.effort", *effort, "none", "minimal", "low", "medium", "high", "xhigh", "max"); err != nil {
			return err
		}
	}
	if summary := r.Reasoning.Summary; summary != nil {
		return oneOf("reasoning.summary", *summary, "auto", "concise", "detailed")
	}
	return nil
}

func (r *responsesRequest) validateTools() error {
	if len(r.Tools) > 128 {
		return invalidValue("tools", "Invalid 'tools': array too long. Expected an array with maximum length 128, but got an array with length %d instead.", len(r.Tools))
	}
	names := map[string]bool{}
	for i := range r.Tools {
		t := &r.Tools[i]
		path := fmt.Sprintf("tools[%d]", i)
		switch {
		case t.Type == "":
			return missingParameter(path + ".type")
		case t.Type != "function":
			return invalidValue(path+".type", "Invalid value: '%s'. Supported values are: 'function'.", t.Type)
		case t.Name == "":
			return missingParameter(path + ".name")
		case !toolName.MatchString(t.Name):
			return invalidValue(path+".name", "Invalid '%s.name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$' of at most 64 characters.", path)
		case names[t.Name]:
			return invalidValue(path+".name", "Tool names must be unique, but %q occurs twice.", t.Name)
		case t.Parameters == nil:
			return missingParameter(path + ".parameters")
		}
		names[t.Name] = true
		if err := validateParameters(t.Name, t.Parameters); err != nil {
			return err
		}
		if t.Strict != nil && *t.Strict {
			if err := validateStrictSchema(t.Name, t.Parameters); err != nil {
				return err
			}
		}
	}
	return nil
}

// validateStrictSchema checks what strict mode demands of the outermost object.
func validateStrictSchema(tool string, parameters json.RawMessage) error {
	var schema struct {
		AdditionalProperties any            `json:"additionalProperties"`
		Properties           map[string]any `json:"properties"`
		Required             []string       `json:"required"`
	}
	if err := json.Unmarshal(parameters, &schema); err != nil {
		return invalidValue("tools", "Invalid schema for function '%s': %v", tool, err)
	}
	problem := ""
	if schema.AdditionalProperties != false {
		problem = "'additionalProperties' is required to be supplied and to be false."
	}
	for _, name := range slices.Sorted(maps.Keys(schema.Properties)) {
		if problem == "" && !slices.Contains(schema.Required, name) {
			problem = fmt.Sprintf("'required' is required to be supplied and to be an array including every key in properties. Missing '%s'.", name)
		}
	}
	if problem == "" {
		return nil
	}
	e := badRequest("tools", "Invalid schema for function '%s': In context=(), %s", tool, problem)
	e.code = "invalid_function_parameters"
	return e
}

func (i *responsesItem) validate(path string) error {
	allowed := map[string][]string{
		itemMessage: {"role", "content", "id", "status", "phase"}, itemCall: {"call_id", "name", "arguments", "id", "status", "namespace", "caller"},
		itemResult: {"call_id", "output", "id", "status", "caller"}, itemReasoning: {"id", "summary", "content", "encrypted_content", "status"},
	}
	fields, ok := allowed[i.kind()]
	if !ok {
		return invalidValue(path, "Invalid value: '%s'. Supported values are: '%s'.", i.Type, strings.Join(slices.Sorted(maps.Keys(allowed)), "', '"))
	}
	if unknown := i.fields.unknown(append(fields, "type")...); unknown != "" {
		return unknownParameter(path + "." + unknown)
	}
	prefix := map[string]string{itemMessage: "msg", itemCall: "fc", itemResult: "fc", itemReasoning: "rs"}[i.kind()]
	if i.ID != "" && !strings.HasPrefix(i.ID, prefix) {
		return invalidValue(path+".id", "Invalid '%s.id': '%s'. Expected an ID that begins with '%s'.", path, i.ID, prefix)
	}
	switch i.kind() {
	case itemMessage:
		return i.validateMessage(path)
	case itemCall:
		return i.validateCall(path)
	case itemResult:
		return i.validateResult(path)
	}
	switch {
	case i.ID == "":
		return missingParameter(path + ".id")
	case i.Summary == nil:
		return missingParameter(path + ".summary")
	}
	return nil
}

func (i *responsesItem) validateMessage(path string) error {
	if err := oneOf(path+".role", i.Role, "assistant", "system", "developer", "user"); err != nil {
		return err
	}
	if !i.Content.set {
		return missingParameter(path + ".content")
	}
	if i.Content.texts() == "" && i.Content.images() == 0 {
		return invalidValue(path+".content", "Invalid '%s.content': expected a non-empty value.", path)
	}
	if i.Role == roleAssistant {
		return i.Content.validate(path+".content", "output_text", "refusal")
	}
	return i.Content.validate(path+".content", "input_text", "input_image", "input_file")
}

func (c responsesParts) validate(path string, supported ...string) error {
	if c.plain {
		return nil
	}
	allowed := map[string][]string{
		"input_text": {"text", "prompt_cache_breakpoint"}, "input_image": {"image_url", "detail", "file_id", "prompt_cache_breakpoint"}, "input_file": {"file_id", "file_data", "file_url", "filename"},
		"output_text": {"text", "annotations", "logprobs"}, "refusal": {"refusal"},
	}
	for i := range c.parts {
		p := &c.parts[i]
		at := fmt.Sprintf("%s[%d]", path, i)
		if err := oneOf(at, p.Type, supported...); err != nil {
			return err
		}
		if unknown := p.fields.unknown(append(allowed[p.Type], "type")...); unknown != "" {
			return unknownParameter(at + "." + unknown)
		}
		if p.Type == "input_image" {
			if err := validateImageURL(at+".image_url", p.ImageURL); err != nil {
				return err
			}
		}
	}
	return nil
}

func validateImageURL(path, url string) error {
	if strings.HasPrefix(url, "https://") {
		return nil
	}
	mediaType, data, ok := parseDataURL(url)
	if !ok || !strings.HasPrefix(mediaType, "image/") {
		return invalidValue(path, "Invalid '%s'. Expected a base64-encoded data URL with an image MIME type (e.g. 'data:image/png;base64,aW1nIGJ5dGVzIGhlcmU='), but got unsupported MIME type '%s'.", path, mediaType)
	}
	if !slices.Contains(imageTypes(), mediaType) || !isImage(mediaType, data) {
		e := badRequest(path, "The image data you provided does not represent a valid image. Please check your input and try again with one of the following image formats: ['image/jpeg', 'image/png', 'image/gif', 'image/webp'].")
		e.code = "invalid_image_format"
		return e
	}
	return nil
}

func validateCallID(path, id string) error {
	switch {
	case id == "":
		return missingParameter(path + ".call_id")
	case len(id) > maxCallID:
		e := badRequest(path+".call_id", "Invalid '%s.call_id': string too long. Expected a string with maximum length %d, but got a string with length %d instead.", path, maxCallID, len(id))
		e.code = "string_above_max_length"
		return e
	}
	return nil
}

func (i *responsesItem) validateCall(path string) error {
	if err := validateCallID(path, i.CallID); err != nil {
		return err
	}
	switch {
	case !toolName.MatchString(i.Name):
		return invalidValue(path+".name", "Invalid '%s.name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$' of at most 64 characters.", path)
	case i.Arguments == nil:
		return missingParameter(path + ".arguments")
	case !json.Valid([]byte(*i.Arguments)):
		return invalidValue(path+".arguments", "Invalid '%s.arguments': not JSON.", path)
	}
	return nil
}

func (i *responsesItem) validateResult(path string) error {
	if err := validateCallID(path, i.CallID); err != nil {
		return err
	}
	if !i.Output.set {
		return missingParameter(path + ".output")
	}
	return i.Output.validate(path+".output", "input_text", "input_image", "input_file")
}

// validatePairs checks that each call has one result after it.
func (r *responsesRequest) validatePairs() error {
	open, called := map[string]bool{}, map[string]bool{}
	for i := range r.Input.items {
		item := &r.Input.items[i]
		path := fmt.Sprintf("input[%d]", i)
		switch item.kind() {
		case itemCall:
			if called[item.CallID] {
				return invalidValue(path+".call_id", "Duplicate function call with call_id %s.", item.CallID)
			}
			open[item.CallID], called[item.CallID] = true, true
		case itemResult:
			switch {
			case !called[item.CallID]:
				return badRequest("input", "No tool call found for function call output with call_id %s.", item.CallID)
			case !open[item.CallID]:
				return badRequest("input", "Duplicate function call output with call_id %s.", item.CallID)
			}
			delete(open, item.CallID)
		}
	}
	if len(open) > 0 {
		return badRequest("input", "No tool output found for function call %s.", slices.Min(slices.Collect(maps.Keys(open))))
	}
	return nil
}

// validateReasoning checks that reasoning is unchanged and is followed by the item that it belongs to.
func (r *responsesRequest) validateReasoning() error {
	ids := map[string]bool{}
	for i := range r.Input.items {
		item := &r.Input.items[i]
		if item.kind() != itemReasoning {
			if required := reasoningID(item.ID); required != "" && !ids[required] {
				return badRequest("input", "Item '%s' of type '%s' was provided without its required 'reasoning' item: '%s'.", item.ID, item.kind(), required)
			}
			continue
		}
		ids[item.ID] = true
		switch {
		case item.EncryptedContent == nil:
			e := badRequest("input", "Item with id '%s' not found. Items are not persisted when `store` is set to false. Try again with `store` set to true, or remove this item from your input.", item.ID)
			e.status = 404
			return e
		case !validReasoning(item.ID, *item.EncryptedContent):
			e := badRequest("input", "The encrypted content for item %s could not be verified. Reason: Encrypted content could not be decrypted or parsed.", item.ID)
			e.code = "invalid_encrypted_content"
			return e
		}
		if i+1 == len(r.Input.items) || !r.Input.items[i+1].isOutput() {
			return badRequest("input", "Item '%s' of type 'reasoning' was provided without its required following item.", item.ID)
		}
	}
	return nil
}

func (i *responsesItem) isOutput() bool {
	kind := i.kind()
	return kind == itemCall || kind == itemReasoning || kind == itemMessage && i.Role == roleAssistant
}

func validReasoning(id, encrypted string) bool {
	sealed, ok := unseal("reasoning", encrypted)
	return ok && strings.HasPrefix(sealed, id+"|")
}

// reasonedMark is part of the item IDs of a reply with reasoning, so that requests show which reasoning they need.
const reasonedMark = "r_"

// reasoningID returns the ID of the reasoning item that an item needs, or "".
func reasoningID(id string) string {
	for _, prefix := range []string{"fc_", "msg_"} {
		if rest, ok := strings.CutPrefix(id, prefix+reasonedMark); ok {
			reply, _, _ := strings.Cut(rest, "_")
			return "rs_" + reply
		}
	}
	return ""
}
