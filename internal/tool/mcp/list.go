// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/nestor-dev/nestor/internal/shorten"
	"github.com/nestor-dev/nestor/internal/tool"
)

// Bounds of the tools that one server may offer.
const (
	maxTools       = 200
	maxPages       = 64
	maxCursor      = 4 << 10
	maxToolName    = 128
	maxDescription = 8 << 10
	maxSchema      = 64 << 10
	// maxListing bounds the schemas and descriptions of all tools together.
	maxListing = 2 << 20
	// maxListingParts bounds the subschemas of all tools together, which take far more memory than their text.
	maxListingParts = 20_000
)

// headerKeyword marks an argument in a schema that a call must repeat in a header.
const headerKeyword = "x-mcp-header"

type listing struct {
	set     tool.Set
	listed  []listed
	status  []ToolStatus
	leftOut []string // tools that are not offered, with the reason; at most maxLeftOut and a total
	// headers are the tools that require arguments in headers.
	headers map[string]bool
}

// list requests the server's tools and converts them.
func (s *Session) list(ctx context.Context, session *sdk.ClientSession) (listing, error) {
	ctx, cancel := context.WithTimeout(ctx, s.options.ConnectTimeout)
	defer cancel()
	offered, more, err := pages(ctx, session)
	if err != nil {
		return listing{}, err
	}
	l := listing{headers: map[string]bool{}}
	var tools []*tool.Tool
	names := map[string]bool{}
	skipped, parts := 0, 0
	leaveOut := func(text string) {
		if skipped++; skipped <= maxLeftOut {
			l.leftOut = append(l.leftOut, text)
		}
	}
	for _, o := range offered {
		converted, err := s.makeListed(o)
		if err == nil && (names[converted.pin] || names[converted.withHints.Name()]) {
			err = errors.New("another tool has its name")
		}
		if err == nil {
			if parts += converted.withHints.SchemaParts(); parts > maxListingParts {
				err = errors.New("the schemas of the server's tools are too complex together")
			}
		}
		if err != nil {
			leaveOut(fmt.Sprintf("%s: %s", shorten.UntrustedLine(o.Name, maxToolName/2), shorten.UntrustedLine(err.Error(), maxMessage/2)))
			continue
		}
		names[converted.pin], names[converted.withHints.Name()] = true, true
		tools = append(tools, converted.withHints)
		if bytes.Contains(o.parameters, []byte(headerKeyword)) {
			l.headers[o.Name] = true
		}
		l.listed = append(l.listed, converted)
		spec := converted.withHints.Spec()
		l.status = append(l.status, ToolStatus{
			Name: o.Name, Description: spec.Description, Schema: spec.Parameters, Pin: converted.pin, Digest: converted.digest,
			ReadOnly: spec.ReadOnly, ReadOnlyWithoutHints: converted.withoutHints.Spec().ReadOnly,
		})
	}
	if skipped > maxLeftOut {
		l.leftOut = append(l.leftOut, fmt.Sprintf("and %d more", skipped-maxLeftOut))
	}
	if more {
		l.leftOut = append(l.leftOut, fmt.Sprintf("all after the first %d tools", maxTools))
	}
	slices.SortFunc(l.status, func(a, b ToolStatus) int { return cmp.Compare(a.Name, b.Name) })
	l.set, err = tool.NewSet(tools...)
	return l, err
}

// offeredTool is a tool from the server's list, with its schema encoded.
type offeredTool struct {
	*sdk.Tool
	parameters json.RawMessage
}

// pages requests the tools page by page and reports whether there are more than maxTools. A server whose list does
// not end is rejected.
func pages(ctx context.Context, session *sdk.ClientSession) (tools []offeredTool, more bool, err error) {
	cursors, size := map[string]bool{}, 0
	params := &sdk.ListToolsParams{}
	for range maxPages {
		page, err := session.ListTools(ctx, params)
		if err != nil {
			return nil, false, err
		}
		for _, t := range page.Tools {
			if t == nil {
				continue
			}
			if len(tools) == maxTools {
				return tools, true, nil
			}
			parameters, err := json.Marshal(t.InputSchema)
			if err != nil {
				return nil, false, fmt.Errorf("encode the schema of a tool: %w", err)
			}
			if size += len(parameters) + len(t.Description); size > maxListing {
				return nil, false, &unusableError{InvalidResponse, fmt.Sprintf("the schemas and descriptions of the server's tools have more than %d MiB", maxListing>>20)}
			}
			tools = append(tools, offeredTool{t, parameters})
		}
		next := page.NextCursor
		switch {
		case next == "":
			return tools, false, nil
		case len(next) > maxCursor || cursors[next]:
			return nil, false, &unusableError{InvalidResponse, "the server's list of tools does not end: a cursor repeats or is too long"}
		}
		cursors[next], params.Cursor = true, next
	}
	return nil, false, &unusableError{InvalidResponse, fmt.Sprintf("the server's list of tools does not end after %d pages", maxPages)}
}

// makeListed converts a server's tool, once with its hints and once without.
func (s *Session) makeListed(offered offeredTool) (listed, error) {
	digest, err := toolDigest(offered.Tool)
	if err != nil {
		return listed{}, err
	}
	withHints, err := s.makeTool(offered, true)
	if err != nil {
		return listed{}, err
	}
	withoutHints := withHints
	if hints := offered.Annotations; hints != nil && (hints.ReadOnlyHint || hints.IdempotentHint) {
		if withoutHints, err = s.makeTool(offered, false); err != nil {
			return listed{}, err
		}
	}
	return listed{pin: PinName(offered.Name), digest: digest, withHints: withHints, withoutHints: withoutHints}, nil
}

// makeTool returns a tool that calls the server's tool. The server's hints count only if it is trusted.
func (s *Session) makeTool(offered offeredTool, trusted bool) (*tool.Tool, error) {
	if s.tasks.requires(offered.Name) {
		return nil, errors.New("it can only run as an MCP task, which is not supported")
	}
	if utf8.RuneCountInString(offered.Name) > maxToolName || strings.ContainsFunc(offered.Name, func(r rune) bool { return !unicode.IsGraphic(r) }) {
		return nil, fmt.Errorf("its name is longer than %d characters, or has invisible ones", maxToolName)
	}
	if len(offered.parameters) > maxSchema {
		return nil, fmt.Errorf("its schema is larger than %d KiB", maxSchema>>10)
	}
	description := strings.TrimSpace(cmp.Or(offered.Description, offered.Title, offered.Name))
	description = shorten.HeadBytes(description, maxDescription)
	spec := tool.Spec{
		Name:        tool.ServerToolName(s.server.Prefix, offered.Name),
		Description: description,
		Parameters:  offered.parameters,
		ReadOnly:    slices.Contains(s.server.ReadOnlyTools, offered.Name),
		Timeout:     s.server.Timeout,
	}
	if hints := offered.Annotations; hints != nil && trusted {
		spec.ReadOnly = spec.ReadOnly || hints.ReadOnlyHint
		spec.Idempotent = hints.IdempotentHint
	}
	return tool.New(spec, func(ctx context.Context, call tool.Invocation) (tool.Output, error) {
		return s.Call(ctx, offered.Name, spec.Repeatable(), call)
	})
}
