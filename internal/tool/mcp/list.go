// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/nestor-dev/nestor/internal/tool"
)

// Bounds of what one server may put before a model.
const (
	maxTools       = 1000
	maxDescription = 8 << 10
)

// listing is what a server offers.
type listing struct {
	set    tool.Set
	status []ToolStatus
	left   []string // what is not offered, and why
}

// list asks the server for its tools and makes them usable.
func (s *Session) list(ctx context.Context, session *sdk.ClientSession) (listing, error) {
	ctx, cancel := context.WithTimeout(ctx, s.options.ConnectTimeout)
	defer cancel()
	var l listing
	var tools []*tool.Tool
	names := map[string]bool{}
	count := 0
	for offered, err := range session.Tools(ctx, nil) {
		if err != nil {
			return listing{}, err
		}
		if count++; count > maxTools {
			l.left = append(l.left, fmt.Sprintf("whatever comes after %d tools", maxTools))
			break
		}
		made, err := s.makeTool(offered)
		if err == nil && names[made.Name()] {
			err = errors.New("another tool has its name")
		}
		if err != nil {
			l.left = append(l.left, fmt.Sprintf("%s: %v", offered.Name, err))
			continue
		}
		names[made.Name()] = true
		tools = append(tools, made)
		l.status = append(l.status, ToolStatus{offered.Name, made.Spec().Description, made.Spec().ReadOnly})
	}
	slices.SortFunc(l.status, func(a, b ToolStatus) int { return cmp.Compare(a.Name, b.Name) })
	var err error
	l.set, err = tool.NewSet(tools...)
	return l, err
}

// makeTool turns a server's tool into one that calls it.
func (s *Session) makeTool(offered *sdk.Tool) (*tool.Tool, error) {
	parameters, err := json.Marshal(offered.InputSchema)
	if err != nil {
		return nil, fmt.Errorf("encode schema: %w", err)
	}
	description := strings.TrimSpace(cmp.Or(offered.Description, offered.Title, offered.Name))
	description, _ = tool.Page(description, 0, maxDescription)
	spec := tool.Spec{
		Name:        toolName(s.server.Prefix, offered.Name),
		Description: description,
		Parameters:  parameters,
		ReadOnly:    slices.Contains(s.server.ReadOnlyTools, offered.Name),
		Timeout:     s.server.Timeout,
	}
	if hints := offered.Annotations; hints != nil {
		spec.ReadOnly = spec.ReadOnly || hints.ReadOnlyHint
		spec.Idempotent = hints.IdempotentHint
	}
	return tool.New(spec, func(ctx context.Context, call tool.Call) (tool.Output, error) {
		return s.Call(ctx, offered.Name, spec.Repeatable(), call)
	})
}
