// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package trigger decides which firings of an AgentTrigger start work, and renders the tasks and messages. It is pure:
// the controller in internal/controller/agenttrigger records the decisions in the trigger's status, and acts on the
// records.
package trigger
