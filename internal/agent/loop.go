// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
)

// How many equal calls with equal results, one after the other, are suspicious, and how many are a loop.
const (
	loopWarnAt = 3
	loopFailAt = 5
)

// Loop counts how often the same call has come with the same result.
type Loop struct {
	Digest string `json:"digest,omitempty"`
	Tool   string `json:"tool,omitempty"`
	Count  int    `json:"count,omitempty"`
}

type loopVerdict int

const (
	noLoop loopVerdict = iota
	loopSuspected
	loopDetected
)

// observe counts the calls of a batch, in the model's order.
func (l Loop) observe(batch []Call) (Loop, loopVerdict) {
	verdict := noLoop
	for _, c := range batch {
		digest := callDigest(c)
		if digest != l.Digest {
			l = Loop{Digest: digest, Tool: c.Tool}
		}
		l.Count++
		switch {
		case l.Count >= loopFailAt:
			return l, loopDetected
		case l.Count == loopWarnAt:
			verdict = loopSuspected
		}
	}
	return l, verdict
}

// callDigest is the same for calls that differ only in the white space of their arguments.
func callDigest(c Call) string {
	var arguments bytes.Buffer
	if err := json.Compact(&arguments, []byte(c.Arguments)); err != nil {
		arguments.Reset()
		arguments.WriteString(c.Arguments)
	}
	hash := sha256.New()
	for _, part := range []string{c.Tool, arguments.String(), c.Answer} {
		hash.Write([]byte(part))
		hash.Write([]byte{0})
	}
	return hex.EncodeToString(hash.Sum(nil)[:8])
}
