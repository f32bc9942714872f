// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// maxName is the longest name that fits into a Kubernetes label.
const maxName = 63

// nameBase returns the prefix of the names of an agent's children and posts.
func (c Config) nameBase() string {
	if c.ConversationID == "" {
		return c.Name
	}
	return c.Name + "-" + c.ConversationID
}

// childName derives the name of an agent's nth child. It is the same after every restart, so a child is never created twice. A
// name that is too long is cut and made unique by a digest of the full name.
func childName(parent string, n int) string {
	name := fmt.Sprintf("%s-%d", parent, n)
	if len(name) <= maxName {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	suffix := fmt.Sprintf("-%s-%d", hex.EncodeToString(sum[:4]), n)
	return parent[:maxName-len(suffix)] + suffix
}
