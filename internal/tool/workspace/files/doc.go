// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package files reads one file of a workspace for people who decide about a call of write. It resolves the path as
// write does, so that the content is the one that the call would replace: links are not followed, and git's own files
// are not read.
package files
