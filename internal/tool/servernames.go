// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package tool

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
)

// maxName is the maximum length of a tool name for model providers.
const maxName = 64

var notInName = regexp.MustCompile(`[^a-zA-Z0-9_-]`)

func ServerPrefix(server string) string { return server + serverSeparator }

// ServerToolName returns the name of a server's tool for models. A name that providers would reject (too long, or with
// other characters) gets a hash of the original, which makes it stable and unique.
func ServerToolName(prefix, tool string) string {
	full := prefix + tool
	name := notInName.ReplaceAllString(full, "_")
	if name == full && len(name) <= maxName {
		return name
	}
	sum := sha256.Sum256([]byte(full))
	suffix := "_" + hex.EncodeToString(sum[:4])
	return name[:min(len(name), maxName-len(suffix))] + suffix
}
