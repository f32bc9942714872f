// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package scripted

import (
	"fmt"
	"net/http"
	"strconv"
	"time"
	"unicode/utf8"
)

// created is the creation time in every reply. It is constant, so that the same request gets the same bytes.
const created = 1767225600

// defaultChunkSize is the default number of characters in a chunk.
const defaultChunkSize = 32

type response struct {
	script   *reply
	conv     *conversation
	protocol protocol
	encoder  encoder
	id       string
	noDelay  bool

	text, reasoning, refusal string
	calls                    []toolCall
	failure                  *apiError
	usage                    *tokenUsage
}

func newResponse(c *conversation, script *reply, captures map[string]any) (*response, error) {
	p := &response{script: script, conv: c}
	if script.Raw != nil {
		return p, nil
	}
	captures["last"], captures["system"] = c.last().text, c.system
	captures["role"], captures["turn"], captures["model"] = c.role, c.turn, c.model
	p.id = c.derivedID()
	var err error
	if failure := script.failure(); failure != nil {
		if p.failure, err = failure.render(captures); err != nil || script.Error != nil {
			return p, err
		}
	}
	if p.text, err = script.Text.render(captures); err != nil {
		return nil, err
	}
	if p.reasoning, err = script.Reasoning.render(captures); err != nil {
		return nil, err
	}
	if p.refusal, err = script.Refusal.render(captures); err != nil {
		return nil, err
	}
	if err := p.renderCalls(captures); err != nil {
		return nil, err
	}
	p.usage = p.count()
	return p, nil
}

func (p *response) renderCalls(captures map[string]any) error {
	for i, sc := range p.script.ToolCalls {
		var call toolCall
		if p.conv.callPrefix != "" {
			call.id = fmt.Sprintf("%s%s_%d", p.conv.callPrefix, p.id, i+1)
		}
		if sc.ID != nil {
			call.id = *sc.ID
		}
		var err error
		if call.name, err = sc.Name.render(captures); err != nil {
			return err
		}
		if call.arguments, err = sc.Arguments.render(captures); err != nil {
			return err
		}
		p.calls = append(p.calls, call)
	}
	return nil
}

// failure returns the error of a reply, or of its fault; nil if there is none.
func (r *reply) failure() *failure {
	switch {
	case r.Error != nil:
		return r.Error
	case r.Fault == nil || r.Fault.Kind != faultError:
		return nil
	case r.Fault.Error != nil:
		return r.Fault.Error
	}
	return &failure{Status: http.StatusInternalServerError, Type: "server_error"}
}

func (f *failure) render(captures map[string]any) (*apiError, error) {
	message, err := f.Message.render(captures)
	name, _ := captures["model"].(string)
	return &apiError{status: f.Status, retryAfter: f.RetryAfter, message: message, kind: f.Type, code: f.Code, model: name}, err
}

// tokenUsage counts the tokens of a reply. prompt includes cached and written, completion includes reasoning.
type tokenUsage struct {
	prompt, cached, written, completion, reasoning int64
}

// count returns the usage in the script, or one token per four characters.
func (p *response) count() *tokenUsage {
	s := p.script.Usage
	if s != nil {
		if s.Omit {
			return nil
		}
		return &tokenUsage{prompt: s.PromptTokens, cached: s.CachedTokens, written: s.CacheWriteTokens, completion: s.CompletionTokens, reasoning: s.ReasoningTokens}
	}
	u := new(tokenUsage)
	for i := range p.conv.messages {
		u.prompt += tokens(p.conv.messages[i].text)
	}
	u.completion = tokens(p.text) + tokens(p.reasoning) + tokens(p.refusal)
	for i := range p.calls {
		u.completion += tokens(p.calls[i].name) + tokens(p.calls[i].arguments)
	}
	return u
}

func tokens(s string) int64 { return int64(len(s)+3) / 4 }

// The finish reasons of scripts, which are those of the chat completions API.
const (
	finishStop      = "stop"
	finishToolCalls = "tool_calls"
	finishLength    = "length"
	finishFiltered  = "content_filter"
)

func (p *response) finishReason() string {
	switch {
	case p.script.FinishReason != "":
		return p.script.FinishReason
	case len(p.calls) > 0:
		return finishToolCalls
	}
	return finishStop
}

func (p *response) streamed() bool {
	return p.conv.stream && !p.script.Unstreamed && p.script.Error == nil && p.script.Raw == nil
}

// status returns the HTTP status of the reply.
func (p *response) status() int {
	switch {
	case p.failure != nil && !p.streamed():
		status, _ := p.protocol.failed(p.failure)
		return status
	case p.script.Raw != nil && p.script.Raw.Status != 0:
		return p.script.Raw.Status
	}
	return http.StatusOK
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

// split splits text into parts of n characters.
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
