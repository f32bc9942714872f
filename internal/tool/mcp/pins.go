// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/nestor-dev/nestor/internal/tool"
)

// A server can change what a tool says and does after people have come to trust it. So tools are pinned as they were first listed, by a digest
// of all that a model or a person decides by, and a tool that differs from its pin is not offered.

// MaxPins is how many tools of a server can be pinned.
const MaxPins = maxTools

// Pin is a tool as it was when people accepted it.
type Pin struct {
	Digest string
	// Added says that the tool came after the others were pinned: the server's hints about it do not count.
	Added bool
}

// Pins are the pins of a server's tools, by PinName.
type Pins map[string]Pin

// PinName is the name under which a server's tool is pinned: bounded, and unique for each tool.
func PinName(name string) string { return toolName("", name) }

// listed is a tool as a session can offer it.
type listed struct {
	pin, digest string
	// trusting has the server's hints, cautious has not.
	trusting, cautious *tool.Tool
}

// Offered returns the tools that are as they were pinned.
func (s *Session) Offered(pins Pins) (tool.Set, error) {
	s.mu.Lock()
	tools := s.listed
	s.mu.Unlock()
	return offered(tools, pins)
}

// remembered are the tools that were offered with the pins of a version.
type remembered struct {
	version string
	tools   tool.Set
}

// OfferedAt is Offered with pins of a version, which is not empty. They are read once for each version and each list of tools: every call asks, and a server may
// have two hundred tools.
func (s *Session) OfferedAt(version string, pins func() Pins) (tool.Set, error) {
	s.mu.Lock()
	known, tools, listings := s.offered, s.listed, s.listings
	s.mu.Unlock()
	if known.version == version {
		return known.tools, nil
	}
	set, err := offered(tools, pins())
	if err != nil {
		return tool.Set{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.listings == listings {
		s.offered = remembered{version, set}
	}
	return set, nil
}

func offered(tools []listed, pins Pins) (tool.Set, error) {
	offered := make([]*tool.Tool, 0, len(tools))
	for _, t := range tools {
		switch pin, ok := pins[t.pin]; {
		case !ok || pin.Digest != t.digest:
		case pin.Added:
			offered = append(offered, t.cautious)
		default:
			offered = append(offered, t.trusting)
		}
	}
	return tool.NewSet(offered...)
}

// digestOf sums up what models and people are shown of a tool. Maps are encoded in the order of their keys.
func digestOf(t *sdk.Tool) (string, error) {
	encoded, err := json.Marshal([]any{t.Name, t.Title, t.Description, t.InputSchema, t.OutputSchema, t.Annotations})
	if err != nil {
		return "", fmt.Errorf("encode tool: %w", err)
	}
	sum := sha256.Sum256(encoded)
	return base64.RawURLEncoding.EncodeToString(sum[:24]), nil // far beyond what a server could find a second tool for
}

// digestOfAll sums up a list of tools.
func digestOfAll(tools []ToolStatus) string {
	lines := make([]string, 0, len(tools))
	for _, t := range tools {
		lines = append(lines, t.Pin+" "+t.Digest+"\n")
	}
	slices.Sort(lines)
	sum := sha256.Sum256([]byte(strings.Join(lines, "")))
	return "sha256:" + hex.EncodeToString(sum[:])
}
