// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package v1beta1 is the API of Nestor's history: four read-only namespaced kinds in the group history.nestor.dev,
// served by the operator from the ledger through the API server's aggregator. Nothing is stored in etcd, and histories
// remain after the objects of their agents are deleted.
//
//   - Transcript: the inputs, replies and tool calls of one agent, from its first event to its last. A list has no
//     entries; a get returns a page of them (TranscriptOptions); the subresource log streams them, one JSON object per
//     line, and follows (TranscriptLogOptions).
//   - ModelCall: one request to a model. A list leaves out the bodies; a get returns them as they were recorded.
//   - Usage: the usage of model calls and runs, for a namespace and for each of its roles, models and chats.
//   - WorkspaceChanges: the changes in the workspace of a chat or standalone task. There is no list; the subresource
//     archive has all changes.
//
// # Names
//
// A transcript is named after the object of its agent: chat.NAME, subagent.NAME, or task.NAME for a tool run. If a name
// was reused, it refers to the newest agent; an older one has its UID as a third part: chat.NAME.UID.
//
// # Selectors
//
// Lists take label selectors on nestor.dev/chat and nestor.dev/role, and field selectors (the constants Field...). Only
// the operator = is supported, because the ledger evaluates the selectors. Other selectors are refused.
//
// +kubebuilder:object:generate=true
// +groupName=history.nestor.dev
// +k8s:openapi-gen=true
// +k8s:openapi-model-package=dev.nestor.history.v1beta1
package v1beta1
