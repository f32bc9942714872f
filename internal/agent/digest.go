// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"crypto/sha256"
	"encoding/hex"
)

// CallDigest identifies a tool call by its content: the SHA-256 of the tool's name, a line feed and the exact bytes of the
// arguments, in lower-case hex. A person who decides about a call names the digest of the call that was shown, and the
// decision holds for exactly that call.
func CallDigest(tool, arguments string) string {
	sum := sha256.Sum256([]byte(tool + "\n" + arguments))
	return hex.EncodeToString(sum[:])
}

// Digest is the digest of a call that needs a decision.
func (e AskPerson) Digest() string { return CallDigest(e.Tool, e.Arguments) }

// Digest is the digest of a call that an agent needs a decision about.
func (f Asked) Digest() string { return CallDigest(f.Tool, f.Arguments) }

// about says whether a decision is meant for a call. One without a digest is meant for whatever has the call's id.
func (f Decided) about(c Call) bool {
	return f.Digest == "" || f.Digest == CallDigest(c.Tool, c.Arguments)
}
