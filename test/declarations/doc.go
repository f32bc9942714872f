// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package declarations checks that what is declared is also used: every reason of a condition is set by the programs and asserted by a test,
// and every field of a spec is read by the programs. It looks at the types of the sources, so it needs no cluster; `make verify` runs it
// before a full test run would.
package declarations
