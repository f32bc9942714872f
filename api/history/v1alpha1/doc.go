// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 is the API of Nestor's history: three read-only namespaced kinds in the group history.nestor.dev, served by
// the operator from the ledger through the API server's aggregator. Nothing of it is stored in etcd, and what it tells of
// agents stays after their objects are gone.
//
//   - Transcript: what one agent heard, said and did, from its first event to its last. A list has no entries; a get has a
//     page of them (TranscriptOptions); the subresource log streams them, one JSON object a line, and follows
//     (TranscriptLogOptions).
//   - ModelCall: one request to a model. A list leaves out the bodies; a get has them, as they were sent and answered.
//   - Usage: what model calls and runs came to, for a namespace and for each of its roles, models and chats.
//
// # Names
//
// A transcript is named for the object whose agent it is of: chat.NAME, subagent.NAME, or task.NAME for a tool run. A name
// that was used again stands for the newest agent; an older one has its UID as a third part: chat.NAME.UID.
//
// # Selectors
//
// Lists take label selectors on nestor.dev/chat and nestor.dev/role, and field selectors (the constants Field...), with = only:
// the ledger answers them, so that a page is never read in vain. Anything else is refused.
//
// +kubebuilder:object:generate=true
// +groupName=history.nestor.dev
// +k8s:openapi-gen=true
// +k8s:openapi-model-package=dev.nestor.history.v1alpha1
package v1alpha1
