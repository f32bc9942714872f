// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"net/http"
	"slices"
)

// The kinds that the page reads, by the names of their resources.
const (
	chats         = "agentchats"
	messages      = "agentmessages"
	tasks         = "agenttasks"
	subAgents     = "subagents"
	roles         = "agentroles"
	providers     = "modelproviders"
	toolServers   = "toolservers"
	nestorPrefix  = "/apis/nestor.dev/v1alpha1"
	historyPrefix = "/apis/history.nestor.dev/v1alpha1"
)

// allowance is what the page may do with a resource: nothing that is not listed here leaves this server. What the person may
// do is for RBAC to say.
type allowance struct {
	list, get, create, remove bool
}

var allowances = map[string]allowance{
	chats:       {list: true, get: true, create: true, remove: true},
	messages:    {list: true, get: true, create: true},
	tasks:       {list: true, get: true},
	subAgents:   {list: true, get: true},
	roles:       {list: true, get: true},
	providers:   {list: true, get: true},
	toolServers: {list: true, get: true},
}

// Parameters that reads may have. Watches are the stream's.
var (
	listParameters    = []string{"limit", "continue", "labelSelector", "fieldSelector"}
	historyParameters = []string{"since", "tail", "limit", "continue", "labelSelector", "fieldSelector"}
)

func (a allowance) allows(method string, named bool) bool {
	switch method {
	case http.MethodGet:
		return named && a.get || !named && a.list
	case http.MethodPost:
		return !named && a.create
	case http.MethodDelete:
		return named && a.remove
	}
	return false
}

// keep returns the values of the parameters that are allowed.
func keep(given map[string][]string, allowed []string) map[string][]string {
	kept := map[string][]string{}
	for name, values := range given {
		if slices.Contains(allowed, name) {
			kept[name] = values
		}
	}
	return kept
}
