// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package doctor finds out why somebody cannot talk to agents: it checks what a chat needs, from the connection to the
// model, and says of each thing that is missing what to do about it.
//
// Checks only read. The probe, which is asked for, runs one harmless tool and removes it again.
package doctor
