// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package engine

// ChatSlots returns the key of the slot group of a chat, by the chat's UID.
func ChatSlots(root string) string { return "chat/" + root }

// SetSlotLimit sets the limit of a slot group and wakes the agents that get a slot.
func (s *shared) SetSlotLimit(g SlotGroup) { s.slots.setLimit(g.Key, g.Limit) }
