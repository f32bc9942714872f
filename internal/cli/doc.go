// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package cli is `kubectl nestor`: talking to agents, and looking after them, from a terminal.
//
// Everything goes through the Kubernetes API with the user's own identity. What a user says, decides or cancels is an
// AgentMessage; waiting is a watch; whole histories and usage come from the aggregated API history.nestor.dev, and where
// that is not served the bounded status of the objects has to do.
//
// A command is a file: flags, help, and a run function on a session. Packages below hold what commands share: live keeps
// up with a chat, narrate tells it line by line, chatui shows it on a full screen, history reads the aggregated API,
// doctor finds out what is wrong, and terminal makes text fit for a terminal.
package cli
