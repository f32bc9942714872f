// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/nestor-dev/nestor/internal/outbound/oauth"
)

type Transport string

// The transports, named as in a ToolServer's spec.
const (
	StreamableHTTP Transport = "StreamableHTTP"
	SSE            Transport = "SSE"
)

type Key struct {
	Namespace string
	// Server is the server's name, prefixed with its namespace if that differs from the agents':
	// "nestor-system/github".
	Server string
	// Person is the user whose credentials the session has; empty for that of the namespace.
	Person string
}

// TokenSource provides access tokens. It is safe for concurrent use.
type TokenSource interface {
	// Token returns a token that has not expired.
	Token(ctx context.Context) (string, error)
	// Refused is called with a token that the server refused, and reports whether Token can return another one or explain
	// why not.
	Refused(token string) bool
}

// Headers returns headers for a request. It is called for each request, so that a rotated Secret is used at once. The
// values are secret.
type Headers func(ctx context.Context) (http.Header, error)

// Server describes how to reach an MCP server and how to treat its tools.
type Server struct {
	Key Key
	// Revision identifies the server and changes whenever a field below changes, for example a UID and a generation. A
	// new revision replaces the session; a new value in a Secret need not. The sessions of one revision share access
	// tokens.
	Revision string
	// Prefix is prepended to the names of the tools; see [Prefix].
	Prefix    string
	Transport Transport
	URL       string
	// Headers may be nil.
	Headers Headers
	// OAuth is the client that obtains access tokens for the requests; nil if they need none.
	OAuth *oauth.Client
	// Tokens provides the access tokens instead; nil if it does not.
	Tokens TokenSource
	// ListOnly reports that the session only lists the tools, and makes no call.
	ListOnly bool
	// ReadOnlyTools are tools, by the server's own names, that count as read-only regardless of the server's hints.
	ReadOnlyTools []string
	// Timeout limits one call; zero uses the executor's.
	Timeout time.Duration
}

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
