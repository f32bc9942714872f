// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
)

// maxName is what model providers accept.
const maxName = 64

var notInName = regexp.MustCompile(`[^a-zA-Z0-9_-]`)

// Prefix returns the prefix of the tools of a ToolServer.
func Prefix(server string) string { return server + "__" }

// toolName returns the name under which models see a server's tool. A name that
// they cannot see as it is (too long, or with other characters) gets a hash of the
// whole, so that it is the same each time and no other tool's.
func toolName(prefix, tool string) string {
	full := prefix + tool
	name := notInName.ReplaceAllString(full, "_")
	if name == full && len(name) <= maxName {
		return name
	}
	sum := sha256.Sum256([]byte(full))
	suffix := "_" + hex.EncodeToString(sum[:4])
	return name[:min(len(name), maxName-len(suffix))] + suffix
}
