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

// A server can change a tool after people have come to trust it. Therefore tools are pinned when they are first
// listed, by a digest of everything that models and people read, and a tool that differs from its pin is not offered.

// MaxPins is the maximum number of pinned tools of a server.
const MaxPins = maxTools

// Pin records a tool as people accepted it.
type Pin struct {
	Digest string
	// Added means that the tool appeared after the others were pinned: the server's hints about it are ignored.
	Added bool
}

// Pins are the pins of a server's tools, by PinName.
type Pins map[string]Pin

// PinName returns the name under which a tool is pinned. It is bounded and unique.
func PinName(name string) string { return tool.ServerToolName("", name) }

type listed struct {
	pin, digest string
	// withHints uses the server's hints, withoutHints ignores them.
	withHints, withoutHints *tool.Tool
}

func (s *Session) Offered(pins Pins) (tool.Set, error) {
	s.mu.Lock()
	tools := s.listed
	s.mu.Unlock()
	return offered(tools, pins)
}

type cachedOffer struct {
	version string
	tools   tool.Set
}

// OfferedAt returns the same as Offered. version identifies the pins and must not be empty: pins is called once for
// each version and each list of tools, because every call needs the result and a server may have two hundred tools.
func (s *Session) OfferedAt(version string, pins func() Pins) (tool.Set, error) {
	s.mu.Lock()
	cached, tools, listings := s.offered, s.listed, s.listings
	s.mu.Unlock()
	if cached.version == version {
		return cached.tools, nil
	}
	set, err := offered(tools, pins())
	if err != nil {
		return tool.Set{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.listings == listings {
		s.offered = cachedOffer{version, set}
	}
	return set, nil
}

func offered(tools []listed, pins Pins) (tool.Set, error) {
	offered := make([]*tool.Tool, 0, len(tools))
	for _, t := range tools {
		switch pin, ok := pins[t.pin]; {
		case !ok || pin.Digest != t.digest:
		case pin.Added:
			offered = append(offered, t.withoutHints.AsAdded())
		default:
			offered = append(offered, t.withHints)
		}
	}
	return tool.NewSet(offered...)
}

// toolDigest hashes the parts of a tool that models and people read. JSON sorts the keys of maps.
func toolDigest(t *sdk.Tool) (string, error) {
	encoded, err := json.Marshal([]any{t.Name, t.Title, t.Description, t.InputSchema, t.OutputSchema, t.Annotations})
	if err != nil {
		return "", fmt.Errorf("encode tool: %w", err)
	}
	sum := sha256.Sum256(encoded)
	return base64.RawURLEncoding.EncodeToString(sum[:24]), nil // long enough to resist a second preimage
}

func digestOfAll(tools []ToolStatus) string {
	lines := make([]string, 0, len(tools))
	for _, t := range tools {
		lines = append(lines, t.Pin+" "+t.Digest+"\n")
	}
	slices.Sort(lines)
	sum := sha256.Sum256([]byte(strings.Join(lines, "")))
	return "sha256:" + hex.EncodeToString(sum[:])
}
