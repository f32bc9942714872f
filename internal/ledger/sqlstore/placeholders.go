// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package sqlstore

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strconv"

	"github.com/nestor-dev/nestor/internal/ledger"
)

// Values that a row would contain in two columns are stored in one of them: the type and time of an event, the tool calls and the usage of a
// reply, and the key of a call.

// eventStart returns the beginning of an event that has the columns of its row: version 1, its type, and its time in milliseconds.
func eventStart(e *ledger.Event) []byte {
	start := append(append([]byte(`{"v":1,"type":"`), e.Type...), `","time":`...)
	return append(strconv.AppendInt(start, e.At.UnixMilli(), 10), `,"fact":`...)
}

// stripEvent removes what the columns of an event contain, which leaves its fact, and returns the form of the rest.
func stripEvent(e *ledger.Event) (form int) {
	rest, ok := bytes.CutPrefix(e.Data, eventStart(e))
	fact, closed := bytes.CutSuffix(rest, []byte("}"))
	if !ok || !closed || text(e.Type) != e.Type || !json.Valid(fact) { // an event with further fields has no fact at its end
		return formPlain
	}
	e.Data = fact
	return formFact
}

func restoreEvent(e *ledger.Event, form int) {
	if form == formFact {
		e.Data = append(append(eventStart(e), e.Data...), '}')
	}
}

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

const (
	usageField       = `"usage":`
	usagePlaceholder = usageField + `0`
)

// stripUsage removes the usage from a response if the columns have the same. It reports false if it changed nothing.
func stripUsage(r *ledger.ModelResult) bool {
	usage := usageOf(r)
	if usage == nil || bytes.Count(r.Response, usage) != 1 || bytes.Contains(r.Response, []byte(usagePlaceholder)) {
		return false
	}
	r.Response = bytes.Replace(r.Response, usage, []byte(usagePlaceholder), 1)
	return true
}

func restoreUsage(r *ledger.ModelResult) json.RawMessage {
	return bytes.Replace(r.Response, []byte(usagePlaceholder), usageOf(r), 1)
}

// usageOf returns the field of a response with the usage that the columns have; nil if that is unknown.
func usageOf(r *ledger.ModelResult) []byte {
	if r.PromptTokens == nil || r.CompletionTokens == nil {
		return nil
	}
	usage := strconv.AppendInt([]byte(usageField+`{"promptTokens":`), *r.PromptTokens, 10)
	usage = appendPart(usage, `,"cachedTokens":`, r.CachedTokens)
	usage = strconv.AppendInt(append(usage, `,"completionTokens":`...), *r.CompletionTokens, 10)
	usage = appendPart(usage, `,"reasoningTokens":`, r.ReasoningTokens)
	usage = strconv.AppendInt(append(usage, `,"totalTokens":`...), *r.PromptTokens+*r.CompletionTokens, 10)
	return append(usage, '}')
}

func appendPart(usage []byte, name string, n *int64) []byte {
	if n == nil || *n == 0 {
		return usage
	}
	return strconv.AppendInt(append(usage, name...), *n, 10)
}

const (
	digestField  = `{"bodyDigest":"`
	digestLength = 2 * sha256.Size
)

// splitSent returns the digest of what was sent, in half of its length, and the rest. The digest is NULL if it has another form.
func splitSent(sent json.RawMessage) (digest, rest any) {
	data, ok := bytes.CutPrefix(sent, []byte(digestField))
	if !ok || len(data) < digestLength || !bytes.HasPrefix(data[digestLength:], []byte(`",`)) {
		return nil, jsonText(sent)
	}
	sum, err := hex.DecodeString(string(data[:digestLength]))
	if err != nil || hex.EncodeToString(sum) != string(data[:digestLength]) {
		return nil, jsonText(sent)
	}
	return sum, "{" + string(data[digestLength+len(`",`):])
}

func joinSent(digest string, rest json.RawMessage) json.RawMessage {
	if digest == "" || len(rest) == 0 {
		return rest
	}
	return append([]byte(digestField+digest+`",`), rest[1:]...)
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
