// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package scripted

import (
	"fmt"
	"hash/fnv"
	"net/http"
	"strconv"
	"time"
	"unicode/utf8"
)

// created is the creation time in every reply. It is constant, so that the same request gets the same bytes.
const created = 1767225600

// defaultChunkSize is the default number of characters in a chunk.
const defaultChunkSize = 32

// response is one rendered reply.
type response struct {
	script  *reply
	conv    *conversation
	id      string
	noDelay bool

	text, reasoning, refusal string
	calls                    []chatCall
	failure                  *apiError
	usage                    *wireUsage
}

// newResponse renders a reply for a conversation.
func newResponse(c *conversation, script *reply, captures map[string]any) (*response, error) {
	p := &response{script: script, conv: c}
	if script.Raw != nil {
		return p, nil
	}
	captures["last"], captures["system"] = c.last().Content.text, c.system
	captures["role"], captures["turn"], captures["model"] = c.role, c.turn, c.Model
	p.id = c.derivedID()
	if script.Error != nil {
		return p, p.renderError(captures)
	}
	var err error
	if p.text, err = script.Text.render(captures); err != nil {
		return nil, err
	}
	if p.reasoning, err = script.Reasoning.render(captures); err != nil {
		return nil, err
	}
	if p.refusal, err = script.Refusal.render(captures); err != nil {
		return nil, err
	}
	for i, sc := range script.ToolCalls {
		call := chatCall{ID: fmt.Sprintf("call_%s_%d", p.id, i+1), Type: "function"}
		if sc.ID != nil {
			call.ID = *sc.ID
		}
		call.Function.Name = sc.Name
		if call.Function.Arguments, err = sc.Arguments.render(captures); err != nil {
			return nil, err
		}
		p.calls = append(p.calls, call)
	}
	p.usage = p.count()
	return p, nil
}

func (p *response) renderError(captures map[string]any) error {
	f := p.script.Error
	message, err := f.Message.render(captures)
	if err != nil {
		return err
	}
	p.failure = &apiError{status: f.Status, retryAfter: f.RetryAfter, Message: message, Type: f.Type}
	if f.Code != "" {
		p.failure.Code = &f.Code
	}
	if message == "" {
		p.failure.Message = http.StatusText(f.Status)
	}
	return nil
}

// derivedID returns an ID that depends only on the request: a repeated request gets the same IDs, and they differ
// within a conversation because it grows with each turn.
func (c *conversation) derivedID() string {
	h := fnv.New64a()
	fmt.Fprintf(h, "%s|%s|%d|%d|%s", c.Model, c.role, c.turn, len(c.Messages), c.last().Content.text)
	return strconv.FormatUint(h.Sum64(), 36)
}

type wireUsage struct {
	PromptTokens        int64 `json:"prompt_tokens"`
	CompletionTokens    int64 `json:"completion_tokens"`
	TotalTokens         int64 `json:"total_tokens"`
	PromptTokensDetails struct {
		CachedTokens int64 `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
	CompletionTokensDetails struct {
		ReasoningTokens int64 `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
}

// count returns the usage in the script, or one token per four characters.
func (p *response) count() *wireUsage {
	u := new(wireUsage)
	scriptUsage := p.script.Usage
	switch {
	case scriptUsage == nil:
		for i := range p.conv.Messages {
			u.PromptTokens += tokens(p.conv.Messages[i].Content.text)
		}
		u.CompletionTokens = tokens(p.text) + tokens(p.reasoning) + tokens(p.refusal)
		for i := range p.calls {
			u.CompletionTokens += tokens(p.calls[i].Function.Name) + tokens(p.calls[i].Function.Arguments)
		}
	case scriptUsage.Omit:
		return nil
	default:
		u.PromptTokens, u.CompletionTokens = scriptUsage.PromptTokens, scriptUsage.CompletionTokens
		u.PromptTokensDetails.CachedTokens = scriptUsage.CachedTokens
		u.CompletionTokensDetails.ReasoningTokens = scriptUsage.ReasoningTokens
	}
	u.TotalTokens = u.PromptTokens + u.CompletionTokens
	return u
}

func tokens(s string) int64 { return int64(len(s)+3) / 4 }

func (p *response) finishReason() string {
	switch {
	case p.script.FinishReason != "":
		return p.script.FinishReason
	case len(p.calls) > 0:
		return "tool_calls"
	}
	return "stop"
}

// status returns the HTTP status of the reply.
func (p *response) status() int {
	switch {
	case p.failure != nil:
		return p.failure.status
	case p.script.Raw != nil && p.script.Raw.Status != 0:
		return p.script.Raw.Status
	}
	return http.StatusOK
}

// send sends the reply, and stops when the client disconnects.
func (p *response) send(w http.ResponseWriter, r *http.Request) {
	if !p.wait(r, p.script.Latency) {
		return
	}
	switch {
	case p.failure != nil:
		writeError(w, p.failure)
	case p.script.Raw != nil:
		p.sendRaw(w)
	case p.conv.Stream && !p.script.Unstreamed:
		p.stream(w, r)
	default:
		p.sendPlain(w, r)
	}
}

// wait waits and reports whether the client is still connected.
func (p *response) wait(r *http.Request, d duration) bool {
	if d == 0 || p.noDelay {
		return true
	}
	timer := time.NewTimer(time.Duration(d))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-r.Context().Done():
		return false
	}
}

// setHeader sets Retry-After in whole seconds, and in milliseconds if seconds would round.
func (d duration) setHeader(h http.Header) {
	if d == 0 {
		return
	}
	t := time.Duration(d)
	h.Set("Retry-After", strconv.FormatInt(int64((t+time.Second-1)/time.Second), 10))
	if t%time.Second != 0 {
		h.Set("Retry-After-Ms", strconv.FormatInt(t.Milliseconds(), 10))
	}
}

// split splits a text into parts of n characters.
func split(s string, n int) []string {
	if n == 0 {
		n = defaultChunkSize
	}
	pieces := make([]string, 0, len(s)/n+1)
	for s != "" {
		end, runes := 0, 0
		for end < len(s) && runes < n {
			_, size := utf8.DecodeRuneInString(s[end:])
			end += size
			runes++
		}
		pieces = append(pieces, s[:end])
		s = s[end:]
	}
	return pieces
}
