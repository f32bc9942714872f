// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package engine

// ChatCrew is the key of the sub-agents of a chat, by the UID of the chat.
func ChatCrew(root string) string { return "chat/" + root }

// Resize tells a new limit of a crew; those in the line that have a slot then are woken.
func (e *Engine) Resize(c Crew) { e.slots.setLimit(c.Key, c.Limit) }
