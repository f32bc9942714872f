// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
)

// The numbers of consecutive equal calls with equal results that are a suspected and a detected loop.
const (
	loopWarnAt = 3
	loopFailAt = 5
)

// Loop counts consecutive equal calls with equal results.
type Loop struct {
	Digest string `json:"digest,omitempty"`
	Tool   string `json:"tool,omitempty"`
	Count  int    `json:"count,omitempty"`
}

type loopStatus int

const (
	noLoop loopStatus = iota
	loopSuspected
	loopDetected
)

// observe counts the calls of a batch in the model's order, and returns the loop that it suspects or detects. A loop is detected only
// if an earlier batch led to a warning: the model has written all calls of a batch without knowing their results.
func (l Loop) observe(batch []BatchCall) (next, found Loop, status loopStatus) {
	warned := l.Count >= loopWarnAt
	for _, c := range batch {
		digest := loopDigest(c)
		if digest != l.Digest {
			l = Loop{Digest: digest, Tool: c.Tool}
			warned = false
		}
		l.Count++
		switch {
		case warned && l.Count >= loopFailAt:
			return l, l, loopDetected
		case !warned && l.Count >= loopWarnAt:
			found, status = l, loopSuspected
		}
	}
	return l, found, status
}

// loopDigest ignores white space in the arguments.
func loopDigest(c BatchCall) string {
	var arguments bytes.Buffer
	if err := json.Compact(&arguments, []byte(c.Arguments)); err != nil {
		arguments.Reset()
		arguments.WriteString(c.Arguments)
	}
	result := c.ResultDigest
	if result == "" {
		result = c.Answer
	}
	parts := []string{c.Tool, arguments.String(), result}
	for _, image := range c.Images {
		parts = append(parts, image.Digest)
	}
	return hashParts(parts...)
}

// resultDigest identifies the tasks of a group and their results, without names and times, which always differ.
func (g Group) resultDigest(members []Child) string {
	parts := []string{g.Label}
	for _, m := range members {
		parts = append(parts, m.Role, m.Tool, m.Task, string(m.Arguments))
		if m.Outcome != nil {
			parts = append(parts, string(m.Outcome.Kind), m.Outcome.Error, m.Outcome.Result.briefWithData())
		}
	}
	return hashParts(parts...)
}

func hashParts(parts ...string) string {
	hash := sha256.New()
	for _, part := range parts {
		hash.Write([]byte(part))
		hash.Write([]byte{0})
	}
	return hex.EncodeToString(hash.Sum(nil)[:8])
}

// observe counts a delegation that has ended and returns how often it had this result since the last message.
func (w Window) observe(digest string) (Window, int) {
	i := slices.IndexFunc(w.Repeats, func(r Repeat) bool { return r.Digest == digest })
	seen := Repeat{Digest: digest, Count: 1}
	repeats := slices.Clone(w.Repeats)
	if i >= 0 {
		seen.Count = repeats[i].Count + 1
		repeats = slices.Delete(repeats, i, i+1)
	}
	repeats = append(repeats, seen) // the oldest entry is dropped first
	w.Repeats = repeats[max(0, len(repeats)-maxRepeats):]
	return w, seen.Count
}
