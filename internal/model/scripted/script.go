// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package scripted

import (
	"fmt"
	"net/http"
	"os"

	"go.yaml.in/yaml/v3"
)

// Script is a parsed script: rules in order, and a fallback.
type Script struct {
	doc   document
	rules []*rule
}

// document is the YAML form of a script.
type document struct {
	Name        string `yaml:"name"`
	Description string `yaml:"description"`
	// Models are the existing models; empty accepts every name.
	Models   []string    `yaml:"models"`
	Defaults replyTiming `yaml:"defaults"`
	Rules    []*rule     `yaml:"rules"`
	Fallback *reply      `yaml:"fallback"`
}

type rule struct {
	Name  string `yaml:"name"`
	Match match  `yaml:"match"`
	// Times is how often the rule may answer; 0 means unlimited.
	Times int    `yaml:"times"`
	Reply *reply `yaml:"reply"`

	where string
}

// reply is a response: content, or one of Error and Raw.
type reply struct {
	Text         text         `yaml:"text"`
	Reasoning    text         `yaml:"reasoning"`
	Refusal      text         `yaml:"refusal"`
	ToolCalls    []scriptCall `yaml:"toolCalls"`
	FinishReason string       `yaml:"finishReason"`
	Usage        *usage       `yaml:"usage"`
	// Unstreamed answers with a plain body even if a stream was requested, as some providers do.
	Unstreamed bool `yaml:"unstreamed"`

	replyTiming `yaml:",inline"`

	Fault *fault   `yaml:"fault"`
	Error *failure `yaml:"error"`
	Raw   *raw     `yaml:"raw"`
}

type replyTiming struct {
	// Latency is the delay before the first byte, ChunkDelay that between chunks of a stream.
	Latency    duration `yaml:"latency"`
	ChunkDelay duration `yaml:"chunkDelay"`
	ChunkSize  int      `yaml:"chunkSize"`
}

type scriptCall struct {
	// ID overrides the derived ID, for duplicate and missing IDs.
	ID        *string   `yaml:"id"`
	Name      text      `yaml:"name"`
	Arguments arguments `yaml:"arguments"`
}

type usage struct {
	Omit             bool  `yaml:"omit"`
	PromptTokens     int64 `yaml:"promptTokens"`
	CachedTokens     int64 `yaml:"cachedTokens"`
	CacheWriteTokens int64 `yaml:"cacheWriteTokens"`
	CompletionTokens int64 `yaml:"completionTokens"`
	ReasoningTokens  int64 `yaml:"reasoningTokens"`
}

// fault breaks a reply after a number of chunks: the connection hangs or is cut, or invalid JSON or an error follows.
type fault struct {
	Kind  string `yaml:"kind"`
	After int    `yaml:"after"`
	// Error is that of the kind error; absent: status 500.
	Error *failure `yaml:"error"`
}

const (
	faultHang      = "hang"
	faultCut       = "cut"
	faultMalformed = "malformed"
	faultError     = "error"
)

// failure is an error in the API's form.
type failure struct {
	Status     int      `yaml:"status"`
	RetryAfter duration `yaml:"retryAfter"`
	Code       string   `yaml:"code"`
	Type       string   `yaml:"type"`
	Message    text     `yaml:"message"`
}

// raw is a verbatim response, for what the other fields cannot express.
type raw struct {
	Status  int               `yaml:"status"`
	Headers map[string]string `yaml:"headers"`
	Body    string            `yaml:"body"`
}

func Load(path string) (*Script, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read script: %w", err)
	}
	return Parse(path, data)
}

// Parse reads a script; file names it in errors, which begin with file:line.
func Parse(file string, data []byte) (*Script, error) {
	var doc document
	if err := decodeYAML(file, data, &doc); err != nil {
		return nil, err
	}
	lines := ruleLines(data)
	for i, r := range doc.Rules {
		if r == nil {
			return nil, fmt.Errorf("%s:%d: the rule is empty", file, lines[i])
		}
		r.where = fmt.Sprintf("%s:%d", file, lines[i])
		if err := r.check(); err != nil {
			return nil, fmt.Errorf("%s: %w", r.where, err)
		}
		r.Reply.inherit(doc.Defaults)
	}
	if doc.Fallback != nil {
		if err := doc.Fallback.check(); err != nil {
			return nil, fmt.Errorf("%s: fallback: %w", file, err)
		}
		doc.Fallback.inherit(doc.Defaults)
	}
	if len(doc.Rules) == 0 && doc.Fallback == nil {
		return nil, fmt.Errorf("%s: the script has neither rules nor a fallback", file)
	}
	return &Script{doc: doc, rules: doc.Rules}, nil
}

func (r *rule) check() error {
	if r.Reply == nil {
		return fmt.Errorf("the rule has no reply (write `reply: {}` for an empty one)")
	}
	if r.Times < 0 {
		return fmt.Errorf("times is %d; it must be positive, or 0 for unlimited", r.Times)
	}
	return r.Reply.check()
}

func (r *reply) check() error {
	content := r.Text.isSet() || r.Refusal.isSet() || len(r.ToolCalls) > 0 || r.Fault != nil
	if kinds := count(content, r.Error != nil, r.Raw != nil); kinds > 1 {
		return fmt.Errorf("a reply is either content (text, toolCalls, refusal, fault), error or raw; this one is %d of them", kinds)
	}
	if f := r.failure(); f != nil && (f.Status < 400 || f.Status > 599) {
		return fmt.Errorf("error.status is %d; it must be between 400 and 599", f.Status)
	}
	if r.Raw != nil && r.Raw.Status != 0 && http.StatusText(r.Raw.Status) == "" {
		return fmt.Errorf("raw.status %d is not an HTTP status", r.Raw.Status)
	}
	if r.ChunkSize < 0 {
		return fmt.Errorf("chunkSize is %d; it counts characters", r.ChunkSize)
	}
	return r.Fault.check()
}

func (f *fault) check() error {
	switch {
	case f == nil:
		return nil
	case f.After < 0:
		return fmt.Errorf("fault.after is %d; it counts chunks", f.After)
	case f.Error != nil && f.Kind != faultError:
		return fmt.Errorf("fault.error is only for the kind %s", faultError)
	}
	switch f.Kind {
	case faultHang, faultCut, faultMalformed, faultError:
		return nil
	}
	return fmt.Errorf("fault.kind is %q; it must be %s, %s, %s or %s", f.Kind, faultHang, faultCut, faultMalformed, faultError)
}

func (r *reply) inherit(defaults replyTiming) {
	if r.Latency == 0 {
		r.Latency = defaults.Latency
	}
	if r.ChunkDelay == 0 {
		r.ChunkDelay = defaults.ChunkDelay
	}
	if r.ChunkSize == 0 {
		r.ChunkSize = defaults.ChunkSize
	}
}

func count(conditions ...bool) int {
	n := 0
	for _, c := range conditions {
		if c {
			n++
		}
	}
	return n
}

// ruleLines returns the line of each rule, for messages. The data was decoded before, so its structure is valid.
func ruleLines(data []byte) []int {
	var root yaml.Node
	if err := yaml.Unmarshal(data, &root); err != nil || len(root.Content) == 0 {
		return nil
	}
	top := root.Content[0].Content
	for i := 0; i+1 < len(top); i += 2 {
		if top[i].Value != "rules" {
			continue
		}
		var lines []int
		for _, n := range top[i+1].Content {
			lines = append(lines, n.Line)
		}
		return lines
	}
	return nil
}
