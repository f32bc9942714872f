// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package sqlstore

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strconv"

	"github.com/nestor-dev/nestor/internal/ledger"
)

// Values that a row would contain in two columns are stored in one of them: the type and time of an event, the tool
// calls and the usage of a reply, and the key of a call.

// eventStart returns the beginning of an event that has the columns of its row: version 1, its type, and its time in
// milliseconds.
func eventStart(e *ledger.Event) []byte {
	start := append(append([]byte(`{"v":1,"type":"`), e.Type...), `","time":`...)
	return append(strconv.AppendInt(start, e.At.UnixMilli(), 10), `,"fact":`...)
}

// stripEvent removes what the columns of an event contain, which leaves its fact, and returns the form of the rest.
func stripEvent(e *ledger.Event) (form int) {
	rest, ok := bytes.CutPrefix(e.Data, eventStart(e))
	fact, closed := bytes.CutSuffix(rest, []byte("}"))
	if !ok || !closed || text(e.Type) != e.Type {
		return formPlain
	}
	e.Data = fact
	return formFact
}

// stripEvents strips the events of a copy of a batch. Its Validate then checks the facts.
func stripEvents(b ledger.Batch) (ledger.Batch, []int) {
	forms := make([]int, len(b.Events))
	b.Events = slices.Clone(b.Events)
	for i := range b.Events {
		forms[i] = stripEvent(&b.Events[i])
	}
	return b, forms
}

func restoreEvent(e *ledger.Event, form int) {
	if form == formFact {
		e.Data = append(append(eventStart(e), e.Data...), '}')
	}
}

// toolCallsPlaceholder replaces the tool calls of a response or an edit, and keyPlaceholder the key at the end of an
// edit. Neither can occur otherwise: a response has a list there, and a number is not a piece of an edit.
const (
	callsField           = `"toolCalls":`
	toolCallsPlaceholder = callsField + `{"$calls":0}`
	keyPlaceholder       = `,0]`
)

// stripToolCalls removes the tool calls from a response if they equal those of the result. It reports false if it
// changed nothing.
func stripToolCalls(r *ledger.ModelResult) bool { return stripCalls(&r.Response, r.ToolCalls) }

// stripPreviousCalls removes the tool calls of the previous reply in the chain from a request that is an edit.
func stripPreviousCalls(c *ledger.ModelCall, end *chainEnd) bool {
	return c.Place > 0 && end != nil && end.chain == c.Chain && end.place == c.Place-1 && stripCalls(&c.Request, end.toolCalls)
}

func stripCalls(document *json.RawMessage, toolCalls json.RawMessage) bool {
	calls := append([]byte(callsField), toolCalls...)
	if len(calls) <= len(toolCallsPlaceholder) || bytes.Count(*document, calls) != 1 || bytes.Contains(*document, []byte(toolCallsPlaceholder)) {
		return false
	}
	*document = bytes.Replace(*document, calls, []byte(toolCallsPlaceholder), 1)
	return true
}

func restoreToolCalls(document, calls json.RawMessage) json.RawMessage {
	return bytes.Replace(document, []byte(toolCallsPlaceholder), append([]byte(callsField), calls...), 1)
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

// sentModel returns the end of the digest and the model, which has a column.
func sentModel(model string) string { return `","model":"` + model + `"` }

// splitSent returns the digest of what was sent, in half of its length, and the rest without the model. The digest is
// NULL if it has another form, and then the rest is everything.
func splitSent(sent json.RawMessage, model string) (digest, rest any) {
	data, ok := bytes.CutPrefix(sent, []byte(digestField))
	if !ok || len(data) < digestLength || model == "" || text(model) != model {
		return nil, jsonText(sent)
	}
	sum, err := hex.DecodeString(string(data[:digestLength]))
	parameters, ok := bytes.CutPrefix(data[digestLength:], []byte(sentModel(model)))
	switch {
	case err != nil || !ok || hex.EncodeToString(sum) != string(data[:digestLength]):
		return nil, jsonText(sent)
	case string(parameters) == "}":
		return sum, nil
	case !bytes.HasPrefix(parameters, []byte(",")):
		return nil, jsonText(sent)
	}
	return sum, "{" + string(parameters[1:])
}

func joinSent(digest, model string, rest json.RawMessage) json.RawMessage {
	if digest == "" {
		return rest
	}
	whole := []byte(digestField + digest + sentModel(model))
	if len(rest) == 0 {
		return append(whole, '}')
	}
	return append(append(whole, ','), rest[1:]...)
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
