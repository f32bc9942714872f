// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package sqlstore

import (
	"bytes"
	"encoding/json"

	"github.com/nestor-dev/nestor/internal/ledger"
)

// What a row has in two columns is written in one of them: the tool calls of a reply, and the key of a call.

// ownCalls stands in a response for its tool calls, and ownKey at the end of an edit for the key of its call. Neither can be a part of
// what is written otherwise: a response has a list there, and a number is no piece of an edit.
const (
	callsField = `"toolCalls":`
	ownCalls   = callsField + `{"$calls":0}`
	ownKey     = `,0]`
)

// leaveOutCalls takes the tool calls out of a response that has them as the result does. It reports false if it left the response alone.
func leaveOutCalls(r *ledger.ModelResult) bool {
	calls := append([]byte(callsField), r.ToolCalls...)
	if len(calls) <= len(ownCalls) || bytes.Count(r.Response, calls) != 1 || bytes.Contains(r.Response, []byte(ownCalls)) {
		return false
	}
	r.Response = bytes.Replace(r.Response, calls, []byte(ownCalls), 1)
	return true
}

// putBackCalls puts the tool calls back into a response.
func putBackCalls(response, calls json.RawMessage) json.RawMessage {
	return bytes.Replace(response, []byte(ownCalls), append([]byte(callsField), calls...), 1)
}

// keyPiece is how an edit ends that ends with the key of its call.
func keyPiece(key string) string { return `,"\"` + key + `\"}"]` }

// leaveOutKey takes the key out of a request that is an edit, if it ends with it.
func leaveOutKey(c *ledger.ModelCall) {
	if rest, ok := bytes.CutSuffix(c.Request, []byte(keyPiece(c.Key))); c.Place > 0 && ok && text(c.Key) == c.Key {
		c.Request = append(bytes.Clone(rest), ownKey...)
	}
}

// putBackKey puts the key back into a request.
func putBackKey(request []byte, key string) []byte {
	rest, ok := bytes.CutSuffix(request, []byte(ownKey))
	if !ok {
		return request
	}
	return append(bytes.Clone(rest), keyPiece(key)...)
}
