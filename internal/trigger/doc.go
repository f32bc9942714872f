// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package trigger decides which firings of an AgentTrigger start work, and renders what they start. It is pure: the controller in
// internal/controller/agenttrigger records the decisions in the status of the trigger, and acts on what is recorded.
package trigger
