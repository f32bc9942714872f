// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package push stores the push notification configurations of tasks, and signs notifications.
//
// A configuration is in an annotation of its AgentTask, written with the permissions of the client that registers it.
// The client's secrets are sealed: only an operator with the keys in the Secret of [Keyring] can read them, and only
// for the same task, configuration and URL. Package notify (internal/controller/notify) delivers the notifications.
// See docs/adr/0024-push-notifications.md.
package push
