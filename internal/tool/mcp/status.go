// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Reason is the state of a session in one stable word.
type Reason string

// The reasons. A session is ready only when Connected.
const (
	Connecting      Reason = "Connecting"
	Connected       Reason = "Connected"
	Reconnecting    Reason = "Reconnecting"
	ConnectFailed   Reason = "ConnectFailed"
	Unauthorized    Reason = "Unauthorized"
	InvalidServer   Reason = "InvalidServer"
	NotAllowed      Reason = "NotAllowed"      // the server's address is forbidden
	InvalidResponse Reason = "InvalidResponse" // the server's responses are too large, or not MCP
	Closed          Reason = "Closed"
)

// unusableError is the reason why a reachable server is not used.
type unusableError struct {
	reason  Reason
	message string
}

func (e *unusableError) Error() string { return e.message }

// connecting reports whether the session is connecting right now, without a pause.
func (r Reason) connecting() bool { return r == Connecting || r == Reconnecting }

// ToolStatus is a tool in a ToolServer's status, by the server's own name.
type ToolStatus struct {
	Name        string
	Description string
	Schema      json.RawMessage
	ReadOnly    bool
	// ReadOnlyWithoutHints is ReadOnly without regard to the server's hints.
	ReadOnlyWithoutHints bool
	// Pin is the name under which the tool is pinned, and Digest its hash.
	Pin, Digest string
}

type Status struct {
	Ready  bool
	Reason Reason
	// Message explains the problem and what to do. It contains no secrets and no times, so it changes only when the
	// cause does.
	Message string
	// Tools are the tools of the server, in order, from the last list.
	Tools  []ToolStatus
	Digest string
	// LeftOut names unusable tools, with the reason.
	LeftOut []string
}

// maxLeftOut is the maximum number of unusable tools that are named.
const maxLeftOut = 5

// connectedMessage describes a list of tools and names those that were left out.
func connectedMessage(offered int, left []string) string {
	message := fmt.Sprintf("%d tools are offered", offered)
	if offered == 1 {
		message = "1 tool is offered"
	}
	if len(left) == 0 {
		return message
	}
	return message + "; left out: " + strings.Join(left, "; ")
}
