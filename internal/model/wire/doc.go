// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package wire has what the clients of all model APIs share below their formats: connections with a key for each call,
// a timeout and bounds of responses, the classification of errors, and the checks of tool calls.
package wire
