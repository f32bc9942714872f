// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package files reads the current content of one file of a workspace, for people who decide about a call of write. The path is
// resolved as write resolves it, so that the content is what the call would replace: links are not followed, and git's own files are not
// read.
package files
