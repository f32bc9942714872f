// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package workspace serves the files of one directory to agents, as an MCP
// server over Streamable HTTP.
//
// Nine tools: read, ls, glob, grep, keyword_search and read_image only read;
// write, patch and bash change things and are left out of a read-only workspace.
// Each tool has a file of its own here with its arguments (the schema that a
// model sees) and the text that it answers. The work is done elsewhere:
//
//	fsroot      keeps every file access inside the directory
//	search      glob, grep and keyword search; pathmatch and gitignore serve it
//	edit        exact replacements, for patch
//	shell       bash with a time limit, ended with all that it started
//	pod         the Kubernetes objects that run this server beside the files
//
// Answers are text that a model can act on: paths are relative to the root (or
// to cwd, if the call gave one), lines are numbered, what was left out is
// counted, and an error says what to do instead.
//
// The server wants a bearer token on every request but /healthz.
package workspace
