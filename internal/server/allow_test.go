// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"net/http"
	"testing"
)

func TestOnlyAllowedRequestsPass(t *testing.T) {
	t.Parallel()
	nestor, history := "/k8s"+nestorPrefix+"/namespaces/default/", "/k8s"+historyPrefix+"/namespaces/default/"
	cases := map[string]struct {
		method, path string
		upstream     string // the forwarded request, or ""
		code         int
	}{
		"list chats":        {http.MethodGet, nestor + "agentchats?limit=5", nestorPrefix + "/namespaces/default/agentchats?limit=5", 200},
		"get a chat":        {http.MethodGet, nestor + "agentchats/one", nestorPrefix + "/namespaces/default/agentchats/one", 200},
		"create a chat":     {http.MethodPost, nestor + "agentchats", nestorPrefix + "/namespaces/default/agentchats", 200},
		"delete a chat":     {http.MethodDelete, nestor + "agentchats/one", nestorPrefix + "/namespaces/default/agentchats/one", 200},
		"write a message":   {http.MethodPost, nestor + "agentmessages", nestorPrefix + "/namespaces/default/agentmessages", 200},
		"a transcript":      {http.MethodGet, history + "transcripts/subagent.one-1?since=5&limit=9", historyPrefix + "/namespaces/default/transcripts/subagent.one-1?limit=9&since=5", 200},
		"changes":           {http.MethodGet, history + "workspacechanges/chat.one", historyPrefix + "/namespaces/default/workspacechanges/chat.one", 200},
		"an archive":        {http.MethodGet, history + "workspacechanges/chat.one/archive?x=y", historyPrefix + "/namespaces/default/workspacechanges/chat.one/archive", 200},
		"write an archive":  {http.MethodPost, history + "workspacechanges/chat.one/archive", "", 404},
		"an archive beyond": {http.MethodGet, history + "workspacechanges/..%2fx/archive", "", 400},
		"a file":            {http.MethodGet, history + "workspacechanges/chat.one/file?path=..%2Fa%20b&workingDir=c&agent=subagent.x&x=y", historyPrefix + "/namespaces/default/workspacechanges/chat.one/file?agent=subagent.x&path=..%2Fa+b&workingDir=c", 200},
		"write a file":      {http.MethodPut, history + "workspacechanges/chat.one/file?path=a", "", 404},
		"a file beyond":     {http.MethodGet, history + "workspacechanges/..%2fx/file?path=a", "", 400},
		"list triggers":     {http.MethodGet, nestor + "agenttriggers", nestorPrefix + "/namespaces/default/agenttriggers", 200},
		"list evaluations":  {http.MethodGet, nestor + "agentevaluations", nestorPrefix + "/namespaces/default/agentevaluations", 200},
		"an evaluation":     {http.MethodGet, nestor + "agentevaluations/poems", nestorPrefix + "/namespaces/default/agentevaluations/poems", 200},
		"write one":         {http.MethodPost, nestor + "agentevaluations", "", 405},
		"create a trigger":  {http.MethodPost, nestor + "agenttriggers", nestorPrefix + "/namespaces/default/agenttriggers", 200},
		"change a trigger":  {http.MethodPatch, nestor + "agenttriggers/nightly", "", 405},
		"delete a trigger":  {http.MethodDelete, nestor + "agenttriggers/nightly", "", 405},
		"fire a chat":       {http.MethodPost, nestor + "agentchats/one/fire", "", 404},
		"fire a way out":    {http.MethodPost, nestor + "agenttriggers/..%2fsecrets/fire", "", 400},
		"namespaces":        {http.MethodGet, "/k8s/api/v1/namespaces", "/api/v1/namespaces", 200},
		"no watch":          {http.MethodGet, nestor + "agentchats?watch=true&timeoutSeconds=1", nestorPrefix + "/namespaces/default/agentchats", 200},
		"delete all chats":  {http.MethodDelete, nestor + "agentchats", "", 405},
		"change a chat":     {http.MethodPatch, nestor + "agentchats/one", "", 405},
		"delete a message":  {http.MethodDelete, nestor + "agentmessages/one", "", 405},
		"create a task":     {http.MethodPost, nestor + "agenttasks", nestorPrefix + "/namespaces/default/agenttasks", 200},
		"change a task":     {http.MethodPut, nestor + "agenttasks/one", "", 405},
		"create a role":     {http.MethodPost, nestor + "agentroles", nestorPrefix + "/namespaces/default/agentroles", 200},
		"try a new role":    {http.MethodPost, nestor + "agentroles?dryRun=All", nestorPrefix + "/namespaces/default/agentroles?dryRun=All", 200},
		"try a role":        {http.MethodPut, nestor + "agentroles/coder?dryRun=All&force=true", nestorPrefix + "/namespaces/default/agentroles/coder?dryRun=All", 200},
		"replace a role":    {http.MethodPut, nestor + "agentroles/coder", nestorPrefix + "/namespaces/default/agentroles/coder", 200},
		"patch a role":      {http.MethodPatch, nestor + "agentroles/coder", "", 405},
		"delete a role":     {http.MethodDelete, nestor + "agentroles/coder", "", 405},
		"replace a chat":    {http.MethodPut, nestor + "agentchats/one", nestorPrefix + "/namespaces/default/agentchats/one", 200},
		"replace a task":    {http.MethodPut, nestor + "agenttasks/one", "", 405},
		"list quotas":       {http.MethodGet, nestor + "agentquotas", nestorPrefix + "/namespaces/default/agentquotas", 200},
		"create a quota":    {http.MethodPost, nestor + "agentquotas", nestorPrefix + "/namespaces/default/agentquotas", 200},
		"try a provider":    {http.MethodPut, nestor + "modelproviders/default?dryRun=All", nestorPrefix + "/namespaces/default/modelproviders/default?dryRun=All", 200},
		"create a server":   {http.MethodPost, nestor + "toolservers", nestorPrefix + "/namespaces/default/toolservers", 200},
		"delete a provider": {http.MethodDelete, nestor + "modelproviders/default", "", 405},
		"an empty secret":   {http.MethodPost, "/api/namespaces/default/secrets", "", 400},
		"read a secret":     {http.MethodGet, "/api/namespaces/default/secrets", "", 404},
		"another kind":      {http.MethodGet, nestor + "secrets", "", 405},
		"a status":          {http.MethodGet, nestor + "agentchats/one/status", "", 404},
		"a trace":           {http.MethodGet, history + "transcripts/chat.one/trace?since=7&x=y", historyPrefix + "/namespaces/default/transcripts/chat.one/trace?since=7", 200},
		"write a trace":     {http.MethodPost, history + "transcripts/chat.one/trace", "", 404},
		"a followed log":    {http.MethodGet, history + "transcripts/subagent.one-1/log", "", 404},
		"write history":     {http.MethodPost, history + "transcripts", "", 404},
		"secrets":           {http.MethodGet, "/k8s/api/v1/namespaces/default/secrets", "", 404},
		"all namespaces":    {http.MethodGet, "/k8s" + nestorPrefix + "/agentchats", "", 404},
		"a way out":         {http.MethodGet, nestor + "agentchats/..%2f..%2fsecrets", "", 400},
		"a way out by name": {http.MethodGet, "/k8s" + nestorPrefix + "/namespaces/..%2f..%2f..%2fapi/agentchats", "", 400},
		"a query in a name": {http.MethodGet, nestor + "agentchats/one%3fwatch=true", "", 400},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := newUpstream(t)
			if got := ask(t, u.tokenSite(), c.method, c.path, nil); got.Code != c.code {
				t.Errorf("got %d, want %d: %s", got.Code, c.code, got.Body)
			}
			asked := u.acted()
			if c.upstream == "" && len(asked) > 0 || c.upstream != "" && (len(asked) != 1 || asked[0] != c.method+" "+c.upstream) {
				t.Errorf("asked %v, want %q", asked, c.upstream)
			}
		})
	}
}

func TestWritesMustBeJSON(t *testing.T) {
	t.Parallel()
	u := newUpstream(t)
	got := ask(t, u.tokenSite(), http.MethodPost, "/k8s"+nestorPrefix+"/namespaces/default/agentchats", func(r *http.Request) {
		r.Header.Set("Content-Type", "text/plain") // a form of another site can send this
	})
	if got.Code != http.StatusUnsupportedMediaType || len(u.acted()) > 0 {
		t.Errorf("got %d, asked %v", got.Code, u.acted())
	}
}
