// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package exchange

import (
	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/model"
)

var messageRoles = map[agent.Speaker]model.MessageRole{
	agent.User: model.RoleUser, agent.Assistant: model.RoleAssistant, agent.ToolSpeaker: model.RoleTool,
}

func newRequest(p agent.Prompt) model.Request {
	req := model.Request{MaxOutputTokens: p.MaxOutputTokens, Temperature: p.Temperature, ReasoningEffort: model.ReasoningEffort(p.ReasoningEffort)}
	if p.System != "" {
		req.Messages = append(req.Messages, model.Message{Role: model.RoleSystem, Text: p.System})
	}
	for _, m := range p.Messages {
		req.Messages = append(req.Messages, Message(m))
	}
	for _, t := range p.Tools {
		req.Tools = append(req.Tools, model.Tool{Name: t.Name, Description: t.Description, Parameters: t.Parameters})
	}
	return req
}

// Message converts a message of the core to one of a request.
func Message(m agent.Message) model.Message {
	message := model.Message{Role: messageRoles[m.Speaker], Text: m.Text, ToolCallID: m.Call}
	for _, image := range m.Images {
		message.Images = append(message.Images, model.Image{MediaType: image.MediaType, Digest: image.Digest, Size: image.Size})
	}
	for _, c := range m.Calls {
		message.ToolCalls = append(message.ToolCalls, model.ToolCall{ID: c.ID, Name: c.Tool, Arguments: c.Arguments})
	}
	for _, item := range m.ReasoningItems {
		message.ReasoningItems = append(message.ReasoningItems, model.ReasoningItem{API: model.API(item.API), Model: item.Model, Call: item.Call, Data: item.Data})
	}
	return message
}
