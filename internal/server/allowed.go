// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"net/http"
	"slices"
)

// Resources that the page reads.
const (
	chats         = "agentchats"
	messages      = "agentmessages"
	tasks         = "agenttasks"
	subAgents     = "subagents"
	roles         = "agentroles"
	providers     = "modelproviders"
	toolServers   = "toolservers"
	triggers      = "agenttriggers"
	quotas        = "agentquotas"
	toolPolicies  = "toolpolicies"
	evaluations   = "agentevaluations"
	nestorPrefix  = "/apis/nestor.dev/v1beta1"
	historyPrefix = "/apis/history.nestor.dev/v1beta1"
)

// resourceRules lists what the page may do with a resource: requests for anything else never leave this server. RBAC
// decides what the person may do.
type resourceRules struct {
	list, get, create, replace, remove bool
}

var allowedResources = map[string]resourceRules{
	chats:        {list: true, get: true, create: true, replace: true, remove: true},
	messages:     {list: true, get: true, create: true},
	tasks:        {list: true, get: true, create: true},
	subAgents:    {list: true, get: true},
	roles:        {list: true, get: true, create: true, replace: true},
	providers:    {list: true, get: true, create: true, replace: true},
	toolServers:  {list: true, get: true, create: true, replace: true},
	triggers:     {list: true, get: true, create: true, replace: true},
	quotas:       {list: true, get: true, create: true, replace: true},
	toolPolicies: {list: true, get: true, create: true, replace: true},
	evaluations:  {list: true, get: true},
}

// Query parameters of reads and writes. Watches are only used by the stream.
var (
	writeParameters   = []string{"dryRun"}
	listParameters    = []string{"limit", "continue", "labelSelector", "fieldSelector"}
	historyParameters = []string{"since", "tail", "limit", "continue", "labelSelector", "fieldSelector"}
	fileParameters    = []string{"path", "workingDir", "agent"}
)

func (a resourceRules) allows(method string, named bool) bool {
	switch method {
	case http.MethodGet:
		return named && a.get || !named && a.list
	case http.MethodPost:
		return !named && a.create
	case http.MethodPut:
		return named && a.replace
	case http.MethodDelete:
		return named && a.remove
	}
	return false
}

func filterParameters(given map[string][]string, allowed []string) map[string][]string {
	filtered := map[string][]string{}
	for name, values := range given {
		if slices.Contains(allowed, name) {
			filtered[name] = values
		}
	}
	return filtered
}
