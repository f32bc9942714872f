// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package openai

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

// maxInstruction is the longest instruction of a task, in characters.
const maxInstruction = 32768

// splitLast returns the turns before the last messages of the user, and those messages as one.
func splitLast(turns []turn) (before []turn, last turn, err error) {
	end := len(turns)
	for end > 0 && turns[end-1].Role == "user" {
		end--
	}
	if end == len(turns) {
		return nil, turn{}, badf("messages", "The last message must have the role user.")
	}
	last.Role = "user"
	var texts []string
	for _, t := range turns[end:] {
		texts = append(texts, t.Text)
		last.Images = append(last.Images, t.Images...)
	}
	last.Text = strings.Join(texts, "\n\n")
	if strings.TrimSpace(last.Text) == "" {
		return nil, turn{}, badf("messages", "The last message has no text.")
	}
	return turns[:end], last, nil
}

// instruction returns the instruction of a task for a conversation: the earlier messages, then the last one.
func instruction(before []turn, last turn) (string, error) {
	var rules, messages []string
	for _, t := range before {
		switch t.Role {
		case "system", "developer":
			rules = append(rules, t.Text)
		case "assistant":
			messages = append(messages, "You: "+t.Text)
		default:
			messages = append(messages, "User: "+t.Text)
		}
	}
	var b strings.Builder
	if len(rules) > 0 {
		fmt.Fprintf(&b, "The caller's instructions:\n\n%s\n\n", strings.Join(rules, "\n\n"))
	}
	if len(messages) > 0 {
		fmt.Fprintf(&b, "The conversation so far:\n\n%s\n\n", strings.Join(messages, "\n\n"))
	}
	if b.Len() > 0 {
		b.WriteString("The request:\n\n")
	}
	b.WriteString(last.Text)
	if n := utf8.RuneCountInString(b.String()); n > maxInstruction {
		return "", badf("messages", "The conversation has %d characters, and an instruction at most %d: send less of it, or use a chat (metadata.chat), which keeps its own history.", n, maxInstruction)
	}
	return b.String(), nil
}

// digest identifies a conversation with a model.
func digest(model string, turns []turn) string {
	h := sha256.New()
	fmt.Fprintf(h, "%d:%s", len(model), model)
	for _, t := range turns {
		text := strings.TrimSpace(t.Text)
		fmt.Fprintf(h, "%d:%s%d:%s%d.", len(t.Role), t.Role, len(text), text, len(t.Images))
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// earlierRequests returns the digests of the conversation's beginnings before each reply. One of them may be the
// request that started the run.
func earlierRequests(model string, turns []turn) []string {
	var digests []string
	for i, t := range turns {
		if t.Role == "assistant" && i > 0 {
			digests = append(digests, digest(model, turns[:i]))
		}
	}
	return digests
}

// lastReply returns the last reply in a conversation before the user's last messages.
func lastReply(before []turn) string {
	if len(before) == 0 || before[len(before)-1].Role != "assistant" {
		return ""
	}
	return strings.TrimSpace(before[len(before)-1].Text)
}

func noImages(images []v1beta1.Attachment) error {
	if len(images) > 0 {
		return badf("messages", "Images are for chats: a standalone task has none. Name a chat in metadata.chat.")
	}
	return nil
}
