// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"fmt"
	"strings"
)

// Reason says in one stable word how a session is.
type Reason string

// The reasons. A session is ready only when Connected.
const (
	Connecting    Reason = "Connecting"
	Connected     Reason = "Connected"
	Reconnecting  Reason = "Reconnecting"
	ConnectFailed Reason = "ConnectFailed"
	Unauthorized  Reason = "Unauthorized"
	InvalidServer Reason = "InvalidServer"
	NotAllowed    Reason = "NotAllowed"      // the server is where the operator does not connect to
	BadAnswer     Reason = "InvalidResponse" // the server's answers are too large, or not MCP
	Closed        Reason = "Closed"
)

// unusableError says why a server that can be reached, or could be, is not used.
type unusableError struct {
	reason  Reason
	message string
}

func (e *unusableError) Error() string { return e.message }

// trying reports whether a connection may come any moment, without a pause.
func (r Reason) trying() bool { return r == Connecting || r == Reconnecting }

// ToolStatus is a tool as a ToolServer's status shows it, by the server's own
// name.
type ToolStatus struct {
	Name        string
	Description string
	ReadOnly    bool
	// Cautious is ReadOnly without the server's hints.
	Cautious bool
	// Pin is the name under which the tool is pinned, and Digest sums it up.
	Pin, Digest string
}

// Status is a snapshot of a session.
type Status struct {
	Ready  bool
	Reason Reason
	// Message tells people what is wrong and what to do. It has no secrets and no
	// times, so that it changes only when the matter does.
	Message string
	// Tools are the tools of the server, in order, as last listed.
	Tools []ToolStatus
	// Digest sums up Tools.
	Digest string
	// LeftOut names tools that cannot be used, and why.
	LeftOut []string
}

// maxLeftOut is how many of the tools that cannot be used are named.
const maxLeftOut = 5

// connectedMessage sums up a list of tools and names those that were left out.
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
