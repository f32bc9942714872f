// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"time"
)

// Transport is how a server is spoken to.
type Transport string

// The transports, named as in a ToolServer's spec.
const (
	StreamableHTTP Transport = "StreamableHTTP"
	SSE            Transport = "SSE"
)

// Key identifies a session of a pool.
type Key struct {
	// Namespace is that of the agents that use the session.
	Namespace string
	// Server is the server's name, with its namespace in front where it is not
	// the agents' own: "nestor-system/github".
	Server string
}

// Headers returns headers for a request. It is called for each, so that a rotated
// Secret is used at once. The values are secret.
type Headers func(ctx context.Context) (http.Header, error)

// Server says how to reach an MCP server and what to make of its tools.
type Server struct {
	Key Key
	// Revision changes whenever anything below does (a generation, for example).
	// It replaces a session; a new value in a Secret need not.
	Revision string
	// Prefix goes before the names of the tools; see [Prefix].
	Prefix    string
	Transport Transport
	URL       string
	// Headers may be nil.
	Headers Headers
	// ReadOnlyTools are tools, by the server's own names, that are read-only
	// whatever the server says.
	ReadOnlyTools []string
	// Timeout limits one call; zero leaves it to the executor.
	Timeout time.Duration
}

// origin checks the server's address and returns it.
func (s Server) origin() (*url.URL, error) {
	u, err := url.Parse(s.URL)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return nil, fmt.Errorf("the URL of tool server %s must be http:// or https:// with a host", s.Key.Server)
	}
	if s.Transport != StreamableHTTP && s.Transport != SSE {
		return nil, fmt.Errorf("tool server %s has the unknown transport %q: use StreamableHTTP or SSE", s.Key.Server, s.Transport)
	}
	return u, nil
}
