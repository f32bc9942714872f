// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package follow follows a chat, standalone tasks or a transcript, and reconnects when the connection breaks.
package follow
