// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package conformance is the suite that the client of every model API passes.
//
// The suite plays scripts of package scripted over HTTP in the form of the client's API, so that the same script must
// have the same meaning for all clients: outcomes, failures, usage, deltas, and a reply that can be sent back.
// Responses that a script cannot express, such as an endless stream, are written in the form of each API; see form.
//
// What only one API has is tested in its own package.
package conformance
