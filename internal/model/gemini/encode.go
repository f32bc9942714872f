// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package gemini

import (
	"encoding/json"
	"math"
	"slices"
	"strings"

	"google.golang.org/genai"

	"github.com/nestor-dev/nestor/internal/model"
	"github.com/nestor-dev/nestor/internal/model/wire"
	"github.com/nestor-dev/nestor/internal/plainjson"
)

// request is the body of a call. The contents are last, so that everything before them is a stable prefix.
type request struct {
	SystemInstruction *content                `json:"systemInstruction,omitempty"`
	Tools             []*genai.Tool           `json:"tools,omitempty"`
	ToolConfig        *genai.ToolConfig       `json:"toolConfig,omitempty"`
	GenerationConfig  *genai.GenerationConfig `json:"generationConfig,omitempty"`
	Contents          []*content              `json:"contents"`
}

// content is a turn of the user or the model.
type content struct {
	Role  string  `json:"role,omitempty"`
	Parts []*part `json:"parts"`
}

// part is a part of a content. An empty text is sent, and arguments and signatures as they are.
type part struct {
	Text             *string                 `json:"text,omitempty"`
	InlineData       *genai.Blob             `json:"inlineData,omitempty"`
	FunctionCall     *functionCall           `json:"functionCall,omitempty"`
	FunctionResponse *genai.FunctionResponse `json:"functionResponse,omitempty"`
	ThoughtSignature json.RawMessage         `json:"thoughtSignature,omitempty"`
}

type functionCall struct {
	ID   string          `json:"id,omitempty"`
	Name string          `json:"name"`
	Args json.RawMessage `json:"args"`
}

func encodeRequest(req model.Request, used dialect, api model.API) ([]byte, error) {
	body := request{GenerationConfig: generationConfig(req, used), Contents: contents(req, used, api)}
	for i := range req.Messages {
		if m := &req.Messages[i]; m.Role == model.RoleSystem && m.Text != "" {
			if body.SystemInstruction == nil {
				body.SystemInstruction = &content{}
			}
			body.SystemInstruction.Parts = append(body.SystemInstruction.Parts, textPart(m.Text))
		}
	}
	var err error
	if body.Tools, err = tools(req.Tools); err != nil {
		return nil, err
	}
	if mode := callingMode(req.ToolChoice); mode != "" && len(req.Tools) > 0 {
		body.ToolConfig = &genai.ToolConfig{FunctionCallingConfig: &genai.FunctionCallingConfig{Mode: mode}}
	}
	return plainjson.Marshal(body)
}

func generationConfig(req model.Request, used dialect) *genai.GenerationConfig {
	config := genai.GenerationConfig{ThinkingConfig: used.thinking(req.Model, req.ReasoningEffort)}
	if req.Temperature != nil {
		config.Temperature = new(float32(*req.Temperature))
	}
	if req.MaxOutputTokens > 0 {
		config.MaxOutputTokens = int32(min(req.MaxOutputTokens, math.MaxInt32))
		if t := config.ThinkingConfig; t != nil && t.ThinkingBudget != nil {
			*t.ThinkingBudget = min(*t.ThinkingBudget, config.MaxOutputTokens/2) // thoughts count as output
		}
	}
	if config.ThinkingConfig == nil && config.Temperature == nil && config.MaxOutputTokens == 0 {
		return nil
	}
	return &config
}

func tools(offered []model.Tool) ([]*genai.Tool, error) {
	if len(offered) == 0 {
		return nil, nil
	}
	functions := make([]*genai.FunctionDeclaration, 0, len(offered))
	for _, t := range offered {
		function := &genai.FunctionDeclaration{Name: t.Name, Description: t.Description}
		if len(t.Parameters) > 0 {
			if err := wire.CheckSchema(t.Name, t.Parameters); err != nil {
				return nil, err
			}
			function.ParametersJsonSchema = t.Parameters
		}
		functions = append(functions, function)
	}
	return []*genai.Tool{{FunctionDeclarations: functions}}, nil
}

func callingMode(choice string) genai.FunctionCallingConfigMode {
	switch choice {
	case "auto":
		return genai.FunctionCallingConfigModeAuto
	case "none":
		return genai.FunctionCallingConfigModeNone
	case "required":
		return genai.FunctionCallingConfigModeAny
	}
	return ""
}

func textPart(text string) *part { return &part{Text: &text} }

// contents returns the turns. Messages of the model that follow each other are one turn, because calls must follow a
// turn of the user; the results of calls are one turn in the order of the calls, because a result without an ID belongs
// to the first open call of its name.
func contents(req model.Request, used dialect, api model.API) []*content {
	var turns []*content
	for i := 0; i < len(req.Messages); i++ {
		m := req.Messages[i]
		switch m.Role {
		case model.RoleSystem:
		case model.RoleAssistant:
			if len(turns) == 0 {
				turns = append(turns, &content{Role: genai.RoleUser, Parts: []*part{textPart("(no message)")}})
			}
			parts := assistantParts(m, req, used, api)
			if last := turns[len(turns)-1]; last.Role == genai.RoleModel {
				last.Parts = append(last.Parts, parts...)
				continue
			}
			turns = append(turns, &content{Role: genai.RoleModel, Parts: parts})
		case model.RoleTool:
			end := i
			for end < len(req.Messages) && req.Messages[end].Role == model.RoleTool {
				end++
			}
			turns = append(turns, results(req, i, end))
			i = end - 1
		default:
			turns = append(turns, &content{Role: genai.RoleUser, Parts: userParts(m, req.TextOnly)})
		}
	}
	return turns
}

// imageTypes are the types of images that the API accepts.
var imageTypes = []string{"image/png", "image/jpeg", "image/webp", "image/heic", "image/heif"}

func imageParts(images []model.Image) []*part {
	var parts []*part
	for i := range images {
		parts = append(parts, &part{InlineData: &genai.Blob{MIMEType: images[i].MediaType, Data: images[i].Data}})
	}
	return parts
}

func userParts(m model.Message, textOnly bool) []*part {
	m = wire.WithImageNotes(m, textOnly, imageTypes)
	var parts []*part
	if m.Text != "" {
		parts = append(parts, textPart(m.Text))
	}
	if parts = append(parts, imageParts(m.Images)...); len(parts) == 0 {
		parts = append(parts, textPart("(empty message)"))
	}
	return parts
}

// results returns the turn with the tool messages from start to end, in the order of their calls, and then their
// images.
func results(req model.Request, start, end int) *content {
	var calls []model.ToolCall
	if start > 0 {
		calls = req.Messages[start-1].ToolCalls
	}
	position := func(m model.Message) int {
		return slices.IndexFunc(calls, func(call model.ToolCall) bool { return call.ID == m.ToolCallID })
	}
	messages := slices.Clone(req.Messages[start:end])
	slices.SortStableFunc(messages, func(a, b model.Message) int { return position(a) - position(b) })

	turn := &content{Role: genai.RoleUser}
	var images []*part
	for _, m := range messages {
		m = wire.WithImageNotes(m, req.TextOnly, imageTypes)
		name := "unnamed"
		if i := position(m); i >= 0 {
			name = functionName(calls[i].Name)
		}
		turn.Parts = append(turn.Parts, &part{FunctionResponse: &genai.FunctionResponse{
			ID: functionID(m.ToolCallID), Name: name, Response: map[string]any{"output": m.Text},
		}})
		images = append(images, imageParts(m.Images)...)
	}
	turn.Parts = append(turn.Parts, images...)
	return turn
}

// functionID returns the ID of a call as it is sent: only if the API gave one, because older models do not support
// IDs.
func functionID(id string) string {
	if wire.IsMadeID(id) {
		return ""
	}
	return id
}

// functionName returns the name of a function as the API accepts it.
func functionName(name string) string {
	name = wire.SendableName(name)
	if c := name[0]; c == '-' || c >= '0' && c <= '9' {
		name = "_" + name
	}
	return name[:min(len(name), 64)]
}

// placeholderSignature replaces the missing signature of another model's call, as the API's documentation recommends.
const placeholderSignature = `"c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I="` // skip_thought_signature_validator

// assistantParts returns the parts of the model's message, each with its signature.
func assistantParts(m model.Message, req model.Request, used dialect, api model.API) []*part {
	var parts []*part
	text := strings.TrimPrefix(m.Text+"\n"+m.Refusal, "\n")
	if m.Refusal == "" {
		text = m.Text
	}
	signature := callSignature(m, "", req, used, api)
	if text == "" && len(m.ToolCalls) == 0 {
		text = "(no answer)"
	}
	if text != "" || signature != nil {
		parts = append(parts, &part{Text: &text, ThoughtSignature: signature})
	}
	for i, call := range m.ToolCalls {
		p := &part{
			FunctionCall:     &functionCall{ID: functionID(call.ID), Name: functionName(call.Name), Args: json.RawMessage(wire.SendableArguments(call))},
			ThoughtSignature: callSignature(m, call.ID, req, used, api),
		}
		// Only the first of parallel calls has a signature.
		if i == 0 && p.ThoughtSignature == nil && (used.signCalls || !isOldGeneration(req.Model)) {
			p.ThoughtSignature = json.RawMessage(placeholderSignature)
		}
		parts = append(parts, p)
	}
	return parts
}

// callSignature returns the signature of a call, or of the text if the call is empty.
func callSignature(m model.Message, call string, req model.Request, used dialect, api model.API) json.RawMessage {
	if used.noReasoning {
		return nil
	}
	for i := range m.ReasoningItems {
		if item := &m.ReasoningItems[i]; wire.IsOwn(*item, req, api) && item.Call == call {
			return item.Data
		}
	}
	return nil
}
