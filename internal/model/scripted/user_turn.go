// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package scripted

import "slices"

// userTurn builds the messages of a user's turn, which may contain tool results, several texts, and images.
type userTurn struct {
	results []message
	others  []message
	images  int // of the results
}

// addResult adds the result of a tool. Its images are moved into a message after the results, as in the chat
// completions API, so that the same rule matches everywhere.
func (t *userTurn) addResult(result message) {
	t.images += result.images
	result.role, result.images = roleTool, 0
	t.results = append(t.results, result)
}

// addText begins a message, unless it follows an image that has no text yet.
func (t *userTurn) addText(text string) {
	if n := len(t.others); n > 0 && t.others[n-1].text == "" {
		t.others[n-1].text = text
		return
	}
	t.others = append(t.others, message{role: roleUser, text: text})
}

// addImage adds an image to the newest message, or begins one. Directly after results it is theirs.
func (t *userTurn) addImage() {
	if len(t.others) == 0 && len(t.results) > 0 {
		t.images++
		return
	}
	if len(t.others) == 0 {
		t.others = append(t.others, message{role: roleUser})
	}
	t.others[len(t.others)-1].images++
}

func (t *userTurn) messages() []message {
	all := slices.Clone(t.results)
	if t.images > 0 {
		all = append(all, message{role: roleUser, images: t.images})
	}
	return append(all, t.others...)
}
