// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Nestor-workspace serves the files of one directory to agents over MCP. Run it
// with --help, or see docs/concepts/workspace.md.
package main
