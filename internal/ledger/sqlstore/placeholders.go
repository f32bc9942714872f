// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package sqlstore

import (
	"bytes"
	"encoding/json"

	"github.com/nestor-dev/nestor/internal/ledger"
)

// Values that a row would contain in two columns are stored in one of them: the tool calls of a reply, and the key of a call.

// toolCallsPlaceholder replaces the tool calls of a response, and keyPlaceholder the key at the end of an edit. Neither can occur
// otherwise: a response has a list there, and a number is not a piece of an edit.
const (
	callsField           = `"toolCalls":`
	toolCallsPlaceholder = callsField + `{"$calls":0}`
	keyPlaceholder       = `,0]`
)

// stripToolCalls removes the tool calls from a response if they equal those of the result. It reports false if it changed nothing.
func stripToolCalls(r *ledger.ModelResult) bool {
	calls := append([]byte(callsField), r.ToolCalls...)
	if len(calls) <= len(toolCallsPlaceholder) || bytes.Count(r.Response, calls) != 1 || bytes.Contains(r.Response, []byte(toolCallsPlaceholder)) {
		return false
	}
	r.Response = bytes.Replace(r.Response, calls, []byte(toolCallsPlaceholder), 1)
	return true
}

func restoreToolCalls(response, calls json.RawMessage) json.RawMessage {
	return bytes.Replace(response, []byte(toolCallsPlaceholder), append([]byte(callsField), calls...), 1)
}

// keyPiece returns the end of an edit that ends with the key of its call.
func keyPiece(key string) string { return `,"\"` + key + `\"}"]` }

// stripKey removes the key from the end of a request that is an edit.
func stripKey(c *ledger.ModelCall) {
	if rest, ok := bytes.CutSuffix(c.Request, []byte(keyPiece(c.Key))); c.Place > 0 && ok && text(c.Key) == c.Key {
		c.Request = append(bytes.Clone(rest), keyPlaceholder...)
	}
}

func restoreKey(request []byte, key string) []byte {
	rest, ok := bytes.CutSuffix(request, []byte(keyPlaceholder))
	if !ok {
		return request
	}
	return append(bytes.Clone(rest), keyPiece(key)...)
}
