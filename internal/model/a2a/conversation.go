// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package a2a

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/uuid"

	"github.com/nestor-dev/nestor/internal/model"
)

// exchange is the part of a reply that the history keeps, as a reasoning item.
type exchange struct {
	Task    a2a.TaskID `json:"task,omitempty"`
	Context string     `json:"context,omitempty"`
	// Open reports that the task waits for input; Question is the id of the message with the question.
	Open     bool   `json:"open,omitempty"`
	Question string `json:"question,omitempty"`
}

// conversation is a request in terms of A2A.
type conversation struct {
	message *a2a.Message
	// last is the newest exchange, and tasks are those of all exchanges.
	last  exchange
	tasks []a2a.TaskID
	// partial reports that a limit was reached, so the reply is the partial result.
	partial bool
}

// readConversation returns the newest input and the exchanges before it.
func readConversation(req model.Request) conversation {
	c := conversation{partial: len(req.Tools) == 0}
	input := 0
	for i, m := range req.Messages {
		if m.Role != model.RoleAssistant {
			continue
		}
		input = i + 1
		for _, item := range m.ReasoningItems {
			var last exchange
			if item.API == model.A2A && item.Model == req.Model && json.Unmarshal(item.Data, &last) == nil {
				c.last = last
				c.tasks = append(c.tasks, last.Task)
			}
		}
	}
	c.message = &a2a.Message{ID: messageID(req), Role: a2a.MessageRoleUser, ContextID: req.Conversation}
	if c.last.Context != "" {
		c.message.ContextID = c.last.Context
	}
	if c.last.Open {
		c.message.TaskID = c.last.Task
	}
	c.message.Parts = encodeInput(req.Messages[min(input, len(req.Messages)):])
	return c
}

// messageID returns the id of a call's message, which is the same for all its attempts.
func messageID(req model.Request) string {
	return uuid.NewSHA1(uuid.NameSpaceOID, []byte("nestor.dev/a2a/"+req.Conversation+"/"+req.Call)).String()
}

// encodeInput returns the input of an agent: its task, or the answer to its question.
func encodeInput(messages []model.Message) a2a.ContentParts {
	var texts []string
	var images a2a.ContentParts
	for _, m := range messages {
		if m.Role == model.RoleSystem {
			continue // it describes Nestor's tools, which the remote agent does not have
		}
		if text := strings.TrimSpace(m.Text); text != "" {
			texts = append(texts, text)
		}
		for _, image := range m.Images {
			if len(image.Data) > 0 {
				part := a2a.NewRawPart(image.Data)
				part.MediaType = image.MediaType
				images = append(images, part)
			}
		}
	}
	return append(a2a.ContentParts{a2a.NewTextPart(strings.Join(texts, "\n\n"))}, images...)
}

// delivered reports whether a task that has waited for input has got the message.
func (c conversation) delivered(task *a2a.Task) bool {
	asks := task.Status.State == a2a.TaskStateInputRequired || task.Status.State == a2a.TaskStateAuthRequired
	return !asks || questionID(task) != c.last.Question || slices.ContainsFunc(task.History, func(m *a2a.Message) bool { return m != nil && m.ID == c.message.ID })
}

func questionID(task *a2a.Task) string {
	if task.Status.Message == nil {
		return ""
	}
	return task.Status.Message.ID
}
