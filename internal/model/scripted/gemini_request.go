// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package scripted

import (
	"encoding/json"
	"fmt"
	"strings"
)

// geminiRequest is the body of a call. Unused fields are declared too, so that strict decoding accepts what the API
// accepts.
type geminiRequest struct {
	Contents          []geminiContent `json:"contents"`
	SystemInstruction *geminiContent  `json:"systemInstruction"`
	Tools             []geminiTool    `json:"tools"`
	ToolConfig        *struct {
		FunctionCallingConfig *struct {
			Mode                        string   `json:"mode"`
			AllowedFunctionNames        []string `json:"allowedFunctionNames"`
			StreamFunctionCallArguments ignored
		} `json:"functionCallingConfig"`
		RetrievalConfig, IncludeServerSideToolInvocations ignored
	} `json:"toolConfig"`
	GenerationConfig *geminiConfig `json:"generationConfig"`

	CachedContent, Labels, SafetySettings, ServiceTier, Store ignored

	// model, streamed and events are in the address: events are server-sent ones, else a stream is a list.
	model    string
	streamed bool
	events   bool
}

type geminiConfig struct {
	Temperature     *float64 `json:"temperature"`
	MaxOutputTokens *int64   `json:"maxOutputTokens"`
	CandidateCount  *int64   `json:"candidateCount"`
	ThinkingConfig  *struct {
		IncludeThoughts bool    `json:"includeThoughts"`
		ThinkingBudget  *int64  `json:"thinkingBudget"`
		ThinkingLevel   *string `json:"thinkingLevel"`
	} `json:"thinkingConfig"`

	AudioTimestamp, EnableAffectiveDialog, EnableEnhancedCivicAnswers, FrequencyPenalty, ImageConfig   ignored
	Logprobs, MediaResolution, PresencePenalty, ResponseJSONSchema, ResponseLogprobs, ResponseMimeType ignored
	ResponseModalities, ResponseSchema, RoutingConfig, Seed, SpeechConfig, StopSequences, TopK, TopP   ignored
}

type geminiContent struct {
	Role  string       `json:"role"`
	Parts []geminiPart `json:"parts"`
}

// geminiPart is a part of a content: text, a file, a call or its result.
type geminiPart struct {
	Text             *string         `json:"text"`
	InlineData       *geminiBlob     `json:"inlineData"`
	FileData         *geminiFile     `json:"fileData"`
	FunctionCall     *geminiCall     `json:"functionCall"`
	FunctionResponse *geminiResponse `json:"functionResponse"`
	// Thought marks text of the model's reasoning.
	Thought          bool   `json:"thought"`
	ThoughtSignature string `json:"thoughtSignature"`

	MediaResolution, PartMetadata, VideoMetadata ignored
}

type geminiBlob struct {
	MIMEType    string `json:"mimeType"`
	Data        string `json:"data"`
	DisplayName ignored
}

type geminiFile struct {
	MIMEType    string `json:"mimeType"`
	FileURI     string `json:"fileUri"`
	DisplayName ignored
}

type geminiCall struct {
	ID   string          `json:"id"`
	Name string          `json:"name"`
	Args json.RawMessage `json:"args"`
}

type geminiResponse struct {
	ID                       string          `json:"id"`
	Name                     string          `json:"name"`
	Response                 json.RawMessage `json:"response"`
	Parts                    []geminiPart    `json:"parts"`
	Scheduling, WillContinue ignored
}

type geminiTool struct {
	FunctionDeclarations []geminiFunction `json:"functionDeclarations"`

	CodeExecution, ComputerUse, FileSearch, GoogleMaps, GoogleSearch, GoogleSearchRetrieval, URLContext ignored
}

type geminiFunction struct {
	Name                                   string `json:"name"`
	Description                            ignored
	Parameters                             *geminiSchema   `json:"parameters"`
	ParametersJSONSchema                   json.RawMessage `json:"parametersJsonSchema"`
	Behavior, Response, ResponseJSONSchema ignored
}

// geminiSchema is the API's own form of schemas, which has only these fields.
type geminiSchema struct {
	Type       string                   `json:"type"`
	Properties map[string]*geminiSchema `json:"properties"`
	Items      *geminiSchema            `json:"items"`
	AnyOf      []*geminiSchema          `json:"anyOf"`
	Required   []string                 `json:"required"`

	Default, Description, Enum, Example, Format, MaxItems, MaxLength, MaxProperties, Maximum, MinItems ignored
	MinLength, MinProperties, Minimum, Nullable, Pattern, PropertyOrdering, Title                      ignored
}

// texts returns the text of the parts, without the model's reasoning.
func (c *geminiContent) texts() string {
	var b strings.Builder
	for i := range c.Parts {
		if p := &c.Parts[i]; p.Text != nil && !p.Thought {
			b.WriteString(*p.Text)
		}
	}
	return b.String()
}

// conversation gives calls without an ID one from their position. Results without an ID answer the first open call of
// their name.
func (r *geminiRequest) conversation() *conversation {
	c := &conversation{model: r.model, stream: r.streamed}
	if r.SystemInstruction != nil {
		c.messages = append(c.messages, message{role: roleSystem, text: r.SystemInstruction.texts()})
	}
	var open []toolCall
	for i := range r.Contents {
		content := &r.Contents[i]
		if content.Role == "model" {
			reply := content.reply(i)
			open = append([]toolCall(nil), reply.calls...)
			c.messages = append(c.messages, reply)
			continue
		}
		c.messages = append(c.messages, content.user(&open)...)
	}
	for i := range r.Tools {
		if t := r.ToolConfig; t != nil && t.FunctionCallingConfig != nil && t.FunctionCallingConfig.Mode == "NONE" {
			break
		}
		for j := range r.Tools[i].FunctionDeclarations {
			c.tools = append(c.tools, r.Tools[i].FunctionDeclarations[j].Name)
		}
	}
	return c.complete()
}

func (c *geminiContent) reply(position int) message {
	out := message{role: roleAssistant, text: c.texts()}
	for i := range c.Parts {
		call := c.Parts[i].FunctionCall
		if call == nil {
			continue
		}
		id := call.ID
		if id == "" {
			id = fmt.Sprintf("%d.%d", position, i)
		}
		out.calls = append(out.calls, toolCall{id: id, name: call.Name, arguments: string(call.Args)})
	}
	return out
}

func (c *geminiContent) user(open *[]toolCall) []message {
	var t userTurn
	for i := range c.Parts {
		p := &c.Parts[i]
		switch {
		case p.FunctionResponse != nil:
			result := message{text: p.FunctionResponse.text(), callID: p.FunctionResponse.take(open)}
			for j := range p.FunctionResponse.Parts {
				if p.FunctionResponse.Parts[j].InlineData != nil {
					result.images++
				}
			}
			t.addResult(result)
		case p.InlineData != nil || p.FileData != nil:
			t.addImage()
		case p.Text != nil:
			t.addText(*p.Text)
		}
	}
	return t.messages()
}

// take removes the call that a result answers from the open ones, and returns its ID.
func (f *geminiResponse) take(open *[]toolCall) string {
	for i, call := range *open {
		if f.ID != "" && f.ID == call.id || f.ID == "" && f.Name == call.name {
			*open = append((*open)[:i:i], (*open)[i+1:]...)
			return call.id
		}
	}
	return ""
}

// text returns the text of a result. The API requires an object; text is in its field output, result or error.
func (f *geminiResponse) text() string {
	var fields map[string]json.RawMessage
	if json.Unmarshal(f.Response, &fields) == nil && len(fields) == 1 {
		for _, name := range []string{"output", "result", "error"} {
			var text string
			if value, ok := fields[name]; ok && json.Unmarshal(value, &text) == nil {
				return text
			}
		}
	}
	return string(f.Response)
}
