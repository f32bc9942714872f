// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package scripted

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
)

var geminiName = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}$`)

const badGeminiName = "Invalid function name. Must start with a letter or an underscore. Must be alphanumeric (a-z, A-Z, 0-9), underscores (_), dots (.), colons (:) or dashes (-), with a maximum length of 64."

func field(path, format string, args ...any) *apiError {
	return badRequest(path, "* GenerateContentRequest.%s: %s\n", path, fmt.Sprintf(format, args...))
}

func (r *geminiRequest) validate() error {
	if len(r.Contents) == 0 {
		return field("contents", "contents is not specified")
	}
	return firstError(r.validateConfig, r.validateTools, r.validateContents, r.validateTurns, r.validateSignatures)
}

func (r *geminiRequest) validateContents() error {
	if s := r.SystemInstruction; s != nil && s.texts() == "" {
		return field("system_instruction", "system_instruction parts must have text.")
	}
	for i := range r.Contents {
		if err := r.Contents[i].validate(fmt.Sprintf("contents[%d]", i)); err != nil {
			return err
		}
	}
	return nil
}

func (r *geminiRequest) validateConfig() error {
	c := r.GenerationConfig
	if c == nil {
		return nil
	}
	switch {
	case c.Temperature != nil && (*c.Temperature < 0 || *c.Temperature > 2):
		return field("generation_config.temperature", "temperature must be in the range [0.0, 2.0].")
	case c.MaxOutputTokens != nil && *c.MaxOutputTokens < 1:
		return field("generation_config.max_output_tokens", "max_output_tokens must be positive.")
	case c.CandidateCount != nil && *c.CandidateCount != 1:
		return badRequest("", "Multiple candidates is not enabled for this model")
	case c.ThinkingConfig == nil:
		return nil
	}
	t := c.ThinkingConfig
	switch {
	case t.ThinkingBudget != nil && t.ThinkingLevel != nil:
		return badRequest("", "You can only set only one of thinking budget and thinking level.")
	case t.ThinkingBudget != nil && (*t.ThinkingBudget < -1 || *t.ThinkingBudget > 32768):
		return badRequest("", "The thinking budget %d is invalid. Please choose a value between 0 and 32768.", *t.ThinkingBudget)
	case t.ThinkingLevel != nil && !slices.Contains([]string{"MINIMAL", "LOW", "MEDIUM", "HIGH"}, strings.ToUpper(*t.ThinkingLevel)):
		return badRequest("", "Invalid value at 'generation_config.thinking_config.thinking_level' (type.googleapis.com/google.ai.generativelanguage.v1beta.ThinkingConfig.ThinkingLevel), %q", *t.ThinkingLevel)
	}
	return nil
}

func (r *geminiRequest) validateTools() error {
	names := map[string]bool{}
	for i := range r.Tools {
		for j := range r.Tools[i].FunctionDeclarations {
			f := &r.Tools[i].FunctionDeclarations[j]
			path := fmt.Sprintf("tools[%d].function_declarations[%d]", i, j)
			switch {
			case !geminiName.MatchString(f.Name):
				return field(path+".name", badGeminiName)
			case names[f.Name]:
				return badRequest("", "Duplicate function declaration found: %s", f.Name)
			case f.Parameters != nil && f.ParametersJSONSchema != nil:
				return field(path, "parameters and parameters_json_schema cannot both be set.")
			}
			names[f.Name] = true
			if err := f.validate(path); err != nil {
				return err
			}
		}
	}
	return r.validateToolConfig(names)
}

func (f *geminiFunction) validate(path string) error {
	if f.ParametersJSONSchema != nil {
		var schema struct {
			Type any `json:"type"`
		}
		if err := json.Unmarshal(f.ParametersJSONSchema, &schema); err != nil || schema.Type != "object" {
			return field(path+".parameters_json_schema", "schema should be of OBJECT type.")
		}
		return nil
	}
	if f.Parameters == nil {
		return nil
	}
	if strings.ToUpper(f.Parameters.Type) != "OBJECT" {
		return field(path+".parameters", "schema should be of OBJECT type.")
	}
	return f.Parameters.validate(path + ".parameters")
}

func (s *geminiSchema) validate(path string) error {
	kind := strings.ToUpper(s.Type)
	switch {
	case !slices.Contains([]string{"", "STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT", "NULL"}, kind):
		return badRequest("", "Invalid value at '%s.type' (type.googleapis.com/google.ai.generativelanguage.v1beta.Type), %q", path, s.Type)
	case kind == "OBJECT" && len(s.Properties) == 0:
		return field(path+".properties", "should be non-empty for OBJECT type")
	case kind == "ARRAY" && s.Items == nil:
		return field(path+".items", "missing field.")
	}
	for _, name := range s.Required {
		if s.Properties[name] == nil {
			return field(path+".required", "property is not defined: %s", name)
		}
	}
	for name, property := range s.Properties {
		if property == nil {
			return field(path+".properties["+name+"]", "must be specified")
		}
		if err := property.validate(path + ".properties[" + name + "]"); err != nil {
			return err
		}
	}
	if s.Items != nil {
		return s.Items.validate(path + ".items")
	}
	return nil
}

func (r *geminiRequest) validateToolConfig(declared map[string]bool) error {
	if r.ToolConfig == nil || r.ToolConfig.FunctionCallingConfig == nil {
		return nil
	}
	c := r.ToolConfig.FunctionCallingConfig
	switch {
	case len(declared) == 0:
		return badRequest("", "Function calling config is set without function_declarations.")
	case !slices.Contains([]string{"AUTO", "ANY", "NONE", "VALIDATED"}, c.Mode):
		return badRequest("", "Invalid value at 'tool_config.function_calling_config.mode' (type.googleapis.com/google.ai.generativelanguage.v1beta.FunctionCallingConfig.Mode), %q", c.Mode)
	case len(c.AllowedFunctionNames) > 0 && c.Mode != "ANY" && c.Mode != "VALIDATED":
		return badRequest("", "Allowed function names can only be set when function calling mode is ANY or VALIDATED.")
	}
	for _, name := range c.AllowedFunctionNames {
		if !declared[name] {
			return badRequest("", "The allowed function %s is not declared.", name)
		}
	}
	return nil
}

func (c *geminiContent) validate(path string) error {
	if c.Role != "user" && c.Role != "model" {
		return badRequest("", "Please use a valid role: user, model.")
	}
	if len(c.Parts) == 0 {
		return field(path+".parts", "contents.parts must not be empty.")
	}
	for i := range c.Parts {
		if err := c.Parts[i].validate(fmt.Sprintf("%s.parts[%d]", path, i), c.Role); err != nil {
			return err
		}
	}
	return nil
}

func (p *geminiPart) validate(path, role string) error {
	switch n := count(p.Text != nil, p.InlineData != nil, p.FileData != nil, p.FunctionCall != nil, p.FunctionResponse != nil); {
	case n == 0:
		return field(path+".data", "required oneof field 'data' must have one initialized field")
	case n > 1:
		return badRequest("", "Invalid value at '%s' (oneof), oneof field 'data' is already set.", path)
	}
	switch {
	case p.Text != nil && *p.Text == "" && p.ThoughtSignature == "":
		return badRequest("", "Unable to submit request because it has an empty text parameter. Add a value to the parameter and try again.")
	case p.InlineData != nil && role == "model", p.FileData != nil && role == "model":
		return field(path, "media is not supported in turns of the model.")
	case p.InlineData != nil:
		return p.InlineData.validate(path + ".inline_data")
	case p.FileData != nil && !strings.HasPrefix(p.FileData.FileURI, "https://"):
		return badRequest("", "Unsupported file URI type: %s", p.FileData.FileURI)
	case p.FunctionCall != nil:
		return p.FunctionCall.validate(path+".function_call", role)
	case p.FunctionResponse != nil:
		return p.FunctionResponse.validate(path+".function_response", role)
	}
	return nil
}

func (b *geminiBlob) validate(path string) error {
	if !slices.Contains([]string{"image/png", "image/jpeg", "image/webp", "image/heic", "image/heif"}, b.MIMEType) {
		return badRequest("", "Unsupported MIME type: %s", b.MIMEType)
	}
	decoded, err := base64.StdEncoding.DecodeString(b.Data)
	if err != nil {
		return badRequest("", "Invalid value at '%s.data' (TYPE_BYTES), Base64 decoding failed for %q", path, b.Data[:min(len(b.Data), 40)])
	}
	known := slices.Contains(imageTypes(), b.MIMEType) // net/http detects no signature of the others
	if len(decoded) == 0 || known && http.DetectContentType(decoded) != b.MIMEType {
		return badRequest("", "Unable to process input image. Please retry or report in https://developers.generativeai.google/guide/troubleshooting")
	}
	return nil
}

func (c *geminiCall) validate(path, role string) error {
	switch {
	case role != "model":
		return badRequest("", "Please ensure that function call turns have the role model.")
	case c.Name == "":
		return field(path+".name", "Name cannot be empty.")
	case !geminiName.MatchString(c.Name):
		return field(path+".name", badGeminiName)
	case c.Args != nil && !isObject(c.Args):
		return badRequest("", "Invalid value at '%s.args' (type.googleapis.com/google.protobuf.Struct), %s", path, c.Args)
	}
	return nil
}

func (f *geminiResponse) validate(path, role string) error {
	switch {
	case role != "user":
		return badRequest("", "Please ensure that function response turns have the role user.")
	case f.Name == "":
		return field(path+".name", "Name cannot be empty.")
	case f.Response == nil:
		return field(path+".response", "response is required.")
	case !isObject(f.Response):
		return badRequest("", "Invalid value at '%s.response' (type.googleapis.com/google.protobuf.Struct), %s", path, f.Response)
	}
	for i := range f.Parts {
		p := &f.Parts[i]
		if p.InlineData == nil {
			return field(fmt.Sprintf("%s.parts[%d]", path, i), "only inline_data is supported in function responses.")
		}
		if err := p.InlineData.validate(fmt.Sprintf("%s.parts[%d].inline_data", path, i)); err != nil {
			return err
		}
	}
	return nil
}

// calls returns the calls of a content, responses its results.
func (c *geminiContent) calls() []*geminiCall {
	var calls []*geminiCall
	for i := range c.Parts {
		if call := c.Parts[i].FunctionCall; call != nil {
			calls = append(calls, call)
		}
	}
	return calls
}

func (c *geminiContent) responses() []*geminiResponse {
	var results []*geminiResponse
	for i := range c.Parts {
		if result := c.Parts[i].FunctionResponse; result != nil {
			results = append(results, result)
		}
	}
	return results
}

// validateTurns checks that calls follow the user, and that their results follow them.
func (r *geminiRequest) validateTurns() error {
	var open []*geminiCall
	for i := range r.Contents {
		c := &r.Contents[i]
		calls, results := c.calls(), c.responses()
		switch {
		case len(open) > 0 && len(results) != len(open):
			return badRequest("", "Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.")
		case len(open) == 0 && len(results) > 0:
			return badRequest("", "Please ensure that function response turn comes immediately after a function call turn.")
		case len(calls) > 0 && (i == 0 || r.Contents[i-1].Role != "user"):
			return badRequest("", "Please ensure that function call turn comes immediately after a user turn or after a function response turn.")
		}
		if err := pairResults(open, results); err != nil {
			return err
		}
		open = calls
	}
	if len(open) > 0 {
		return badRequest("", "Please ensure that single turn requests end with a user role or the role field is empty, and that function calls have their responses.")
	}
	if last := r.Contents[len(r.Contents)-1]; last.Role != "user" {
		return badRequest("", "Please ensure that multiturn requests end with a user role.")
	}
	return nil
}

// pairResults checks that each result has a call with its ID or, without one, its name.
func pairResults(calls []*geminiCall, results []*geminiResponse) error {
	calls = slices.Clone(calls)
	for _, result := range results {
		i := slices.IndexFunc(calls, func(c *geminiCall) bool {
			return c.Name == result.Name && (result.ID == "" || result.ID == c.ID)
		})
		if i < 0 {
			return badRequest("", "Function response %q (id %q) does not match a function call of the previous turn.", result.Name, result.ID)
		}
		calls = slices.Delete(calls, i, i+1)
	}
	return nil
}

// skipSignature is what the API accepts instead of a signature, for calls of other models.
const skipSignature = "skip_thought_signature_validator"

// validateSignatures checks that signatures are unchanged, and that the first call of each reply since the user's last
// text has its own.
func (r *geminiRequest) validateSignatures() error {
	current := 0
	for i := range r.Contents {
		if c := &r.Contents[i]; c.Role == "user" && c.texts() != "" {
			current = i
		}
	}
	for i := range r.Contents {
		first := true
		for j := range r.Contents[i].Parts {
			p := &r.Contents[i].Parts[j]
			if p.ThoughtSignature != "" && !p.signed() {
				return badRequest("", "Corrupted thought signature.")
			}
			if p.FunctionCall == nil {
				continue
			}
			if first && i > current && p.ThoughtSignature == "" {
				return badRequest("", "Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, and missing thought_signature may lead to degraded model performance. Additional data, function call `default_api:%s` , position %d. Please refer to https://ai.google.dev/gemini-api/docs/thought-signatures for more details.", p.FunctionCall.Name, i+1)
			}
			first = false
		}
	}
	return nil
}

func (p *geminiPart) signed() bool {
	if p.ThoughtSignature == skipSignature || p.ThoughtSignature == base64.StdEncoding.EncodeToString([]byte(skipSignature)) {
		return true
	}
	text, ok := unseal("thought", p.ThoughtSignature)
	name := ""
	if p.FunctionCall != nil {
		name = p.FunctionCall.Name
	}
	return ok && strings.HasPrefix(text, name+"|")
}
