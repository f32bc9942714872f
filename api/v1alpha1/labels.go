// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Labels that the operator puts on what it creates.
const (
	// LabelChat is on everything that belongs to a chat; its value is the chat's name.
	LabelChat = "nestor.dev/chat"
	// LabelRole is on a task and its sub-agent; its value is the name of the role.
	LabelRole = "nestor.dev/role"
	// LabelParent is on a task and its sub-agent when a sub-agent asked for them; its value is that one's name.
	LabelParent = "nestor.dev/parent"
)
