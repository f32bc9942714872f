// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package declarations checks that declarations are used: every condition reason is set by the programs and asserted by a test, and every
// field of a spec is read by the programs. It analyzes the types of the sources, so it needs no cluster; `make verify` runs it earlier than
// a full test run.
package declarations
