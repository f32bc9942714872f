// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package chatui is the full-screen chat: the conversation with task blocks that open to nested sub-agents, a panel
// with the asks that wait for the person, and an input.
//
// Model is a Bubble Tea model: Update is a pure function of the model and a message (a snapshot of the chat, a delta
// of a streamed reply, a key), and View depends on the model alone. What the person does becomes
// a command that calls Actions.
//
//	input                              result
//	live.Snapshot, Delta   ─┐
//	key, paste, resize      ├─> Update ─> Model ─> View: header, conversation, panel, input, footer
//	outcome of an action   ─┘      └────> Actions: Send, FullArguments, Decide, Cancel
package chatui
