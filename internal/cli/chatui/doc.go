// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package chatui is the full-screen chat: the conversation with live task blocks that open to nested sub-agents, a panel
// for what waits for the person, and a place to write.
//
// Model is a Bubble Tea model: Update is a pure function of the model and what happened (a snapshot of the chat, a piece
// of a reply that streams in, a key), and the View of the model alone. What the person does leaves as commands that call
// Actions.
//
//	what happens                          what it becomes
//	live.Snapshot, Piece   ─┐
//	key, paste, resize      ├─> Update ─> Model ─> View: header, conversation, panel, input, footer
//	outcome of an action   ─┘      └────> Actions: Say, Decide, Cancel
package chatui
