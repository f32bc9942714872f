// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package narrate tells a chat line by line, for where there is no full screen: what was said, which tasks began and how
// they ended, and what to type when an agent waits. It is a function from snapshots to lines that remembers what it has
// told.
package narrate
