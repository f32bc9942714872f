// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// AnnotationCall is on a message that the operator posts about a question or an approval; its value is the id of the call.
// A reply to such a message is for that call.
const AnnotationCall = "nestor.dev/call"

// Labels that the operator puts on what it creates.
const (
	// LabelChat is on everything that belongs to a chat; its value is the chat's name.
	LabelChat = "nestor.dev/chat"
	// LabelRole is on a task and its sub-agent; its value is the name of the role.
	LabelRole = "nestor.dev/role"
	// LabelParent is on a task and its sub-agent when a sub-agent asked for them; its value is that one's name.
	LabelParent = "nestor.dev/parent"
)
