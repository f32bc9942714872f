// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package intake

import "github.com/nestor-dev/nestor/internal/login"

// LoginAction is what a person wants.
type LoginAction string

// The actions.
const (
	BeginLogin  LoginAction = "Begin"
	FinishLogin LoginAction = "Finish"
	Logout      LoginAction = "Logout"
)

// Login is a request of a person who is signed in to the page.
type Login struct {
	Action LoginAction `json:"action"`
	// Person is the user name that the API server has confirmed to the gateway.
	Person string `json:"person"`
	// Namespace and Server name the ToolServer. They are empty when a login ends: the state names it.
	Namespace string `json:"namespace,omitempty"`
	Server    string `json:"server,omitempty"`
	// MayRead reports that the person may read the ToolServer.
	MayRead bool `json:"mayRead,omitempty"`
	// Answer is that of the authorization server.
	Answer login.Answer `json:"answer,omitzero"`
}

type LoginResult struct {
	// URL is where the person's browser goes to begin.
	URL string `json:"url,omitempty"`
	// Namespace and Server name the ToolServer.
	Namespace string `json:"namespace,omitempty"`
	Server    string `json:"server,omitempty"`
}
