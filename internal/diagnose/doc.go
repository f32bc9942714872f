// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package diagnose checks what a chat needs, from the connection to the model, and says for each missing thing what to do about it.
// `kubectl nestor doctor` makes all checks; `nestor-operator check` makes those of an installation.
//
// Checks only read. The probe, which is optional, has the operator run one harmless tool and deletes it again.
package diagnose
