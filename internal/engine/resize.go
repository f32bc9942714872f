// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package engine

// ChatCrew is the key of the slot group of a chat, by the chat's UID.
func ChatCrew(root string) string { return "chat/" + root }

// Resize sets the limit of a slot group and wakes the agents that get a slot.
func (e *Engine) Resize(c Crew) { e.slots.setLimit(c.Key, c.Limit) }
