// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package request has what the web page and the operator exchange when a person logs in to a tool server. It depends on
// nothing, because the page is also part of the command line.
package request

const (
	// Path is the path of the page where a person logs in to a server: followed by the namespace and the name.
	Path = "/tool-login"
	// CallbackPath is where authorization servers send browsers back to.
	CallbackPath = Path + "/callback"
)

// Action is what a person wants.
type Action string

// The actions.
const (
	Begin  Action = "Begin"
	Finish Action = "Finish"
	Logout Action = "Logout"
)

// Request is a request of a person who is signed in to the page.
type Request struct {
	Action Action `json:"action"`
	// Person is the user name that the API server has confirmed to the gateway.
	Person string `json:"person"`
	// Namespace and Server name the ToolServer. They are empty when a login ends: the state names it.
	Namespace string `json:"namespace,omitempty"`
	Server    string `json:"server,omitempty"`
	// MayRead reports that the person may read the ToolServer.
	MayRead bool `json:"mayRead,omitempty"`
	// Answer is that of the authorization server.
	Answer Answer `json:"answer,omitzero"`
}

// Answer is what the authorization server sends with the browser.
type Answer struct {
	State string `json:"state"`
	Code  string `json:"code,omitempty"`
	// Issuer identifies the authorization server (RFC 9207).
	Issuer string `json:"issuer,omitempty"`
	// Error is the code of a refusal.
	Error string `json:"error,omitempty"`
}

type Result struct {
	// URL is where the person's browser goes to begin.
	URL string `json:"url,omitempty"`
	// Namespace and Server name the ToolServer.
	Namespace string `json:"namespace,omitempty"`
	Server    string `json:"server,omitempty"`
}
