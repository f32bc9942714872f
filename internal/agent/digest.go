// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"crypto/sha256"
	"encoding/hex"
)

// CallDigest identifies a tool call by its content: the SHA-256 of the tool's name, a line feed and the exact bytes of
// the arguments, in lower-case hex. A decision contains the digest of the call that was shown to the person, and is
// valid only for that call.
func CallDigest(tool, arguments string) string {
	sum := sha256.Sum256([]byte(tool + "\n" + arguments))
	return hex.EncodeToString(sum[:])
}

// Digest returns the CallDigest of a call that needs a decision.
func (e AskPerson) Digest() string { return CallDigest(e.Tool, e.Arguments) }

// Digest returns the CallDigest of a call that needs a decision.
func (f Asked) Digest() string { return CallDigest(f.Tool, f.Arguments) }

// about reports whether a decision is about this call. A decision without a digest applies to the call with its id,
// unless it edits the arguments.
func (f Decided) about(c BatchCall) bool {
	return f.Digest == "" && f.Arguments == "" || f.Digest == CallDigest(c.Tool, c.Arguments)
}
