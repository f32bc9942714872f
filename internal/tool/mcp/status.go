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
	Closed        Reason = "Closed"
)

// trying reports whether a connection may come any moment, without a pause.
func (r Reason) trying() bool { return r == Connecting || r == Reconnecting }

// ToolStatus is a tool as a ToolServer's status shows it, by the server's own
// name.
type ToolStatus struct {
	Name        string
	Description string
	ReadOnly    bool
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
}

// connectedMessage sums up a list of tools and names those that were left out.
func connectedMessage(offered int, left []string) string {
	message := fmt.Sprintf("%d tools are offered", offered)
	if offered == 1 {
		message = "1 tool is offered"
	}
	if len(left) == 0 {
		return message
	}
	const most = 5
	more := ""
	if len(left) > most {
		more = fmt.Sprintf("; and %d more", len(left)-most)
		left = left[:most]
	}
	return message + "; left out: " + strings.Join(left, "; ") + more
}
