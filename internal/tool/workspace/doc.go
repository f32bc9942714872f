// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package workspace serves the files of one directory to agents, as an MCP server over Streamable HTTP.
//
// It has nine tools: read, ls, glob, grep, keyword_search and read_image only read; write, patch and bash make
// changes and are absent from a read-only workspace. Each tool has a file here with its arguments (the schema for the
// model) and the text of its answers. The work is done by other packages:
//
//	fsroot      keeps every file access inside the directory
//	search      glob, grep and keyword search; pathmatch and gitignore serve it
//	edit        exact replacements, for patch
//	shell       bash with a time limit, ended with all that it started
//	pod         the Kubernetes objects that run this server beside the files
//
// Answers are text for a model: paths are relative to the root (or to cwd, if the call has one), lines are numbered,
// omissions are counted, and errors suggest what to do instead.
//
// The server requires a bearer token on every request except /healthz.
package workspace
