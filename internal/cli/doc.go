// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package cli implements `kubectl nestor`: using and inspecting agents from a terminal.
//
// Everything goes through the Kubernetes API with the user's own identity. Messages, decisions and cancellations are
// AgentMessages; waiting is a watch; transcripts and usage come from the aggregated API history.nestor.dev or, where
// that is not served, from the bounded status of the objects.
//
// Each command has a file with its flags, help and a run function on a session. Subpackages hold what commands share:
// live watches a chat, narrate prints it line by line, chatui shows it on a full screen, history reads the aggregated
// API, and terminal prepares text for a terminal. The checks of `kubectl nestor doctor` are in internal/diagnose.
package cli
