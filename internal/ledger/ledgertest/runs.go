// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package ledgertest

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nestor-dev/nestor/internal/ledger"
)

// testRunsByFilter has three agents with the same name, two of them created in the same second, and others with that name in
// another namespace or of another kind.
func testRunsByFilter(t *testing.T, db Database) {
	l := db.Open(t)
	seed := func(uid, kind, namespace string, created int, finish *ledger.Finish) {
		a := Agent(uid)
		a.Kind, a.Namespace, a.Name, a.CreatedAt = kind, namespace, "release", at(created)
		batch := First(a, 1)
		batch.Finish = finish
		batch.ModelCalls = []ledger.ModelCall{modelCall(uid+"/m1", created)}
		batch.ToolCalls = []ledger.ToolCall{toolCall(uid+"/t1", "c1", created)}
		Append(t, l, batch)
	}
	ended := &ledger.Finish{Status: ledger.StatusCancelled, At: at(9)}
	seed("a", "AgentChat", "team-a", 0, ended)
	seed("c", "AgentChat", "team-a", 1, ended)
	seed("b", "AgentChat", "team-a", 1, nil)
	seed("d", "SubAgent", "team-a", 2, nil)
	seed("e", "AgentChat", "team-b", 3, nil)

	for name, test := range map[string]struct {
		filter ledger.AgentFilter
		want   []string
	}{
		"all, oldest first":  {ledger.AgentFilter{}, []string{"a superseded", "b", "c superseded", "d", "e"}},
		"newest of its name": {ledger.AgentFilter{Scope: ledger.Scope{Namespace: "team-a"}, Kind: "AgentChat", Name: "release", Newest: true}, []string{"b"}},
		"newest everywhere":  {ledger.AgentFilter{Newest: true}, []string{"b", "d", "e"}},
		"by uid":             {ledger.AgentFilter{UID: "a"}, []string{"a superseded"}},
		"by uid, elsewhere":  {ledger.AgentFilter{UID: "a", Scope: ledger.Scope{Namespace: "team-b"}}, []string{}},
		"live":               {ledger.AgentFilter{Live: true, Kind: "AgentChat"}, []string{"b", "e"}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, limit := range []int{1, 0} {
				runs := pages(t, limit, func(p ledger.Page) (ledger.List[ledger.Run], error) { return l.Runs(t.Context(), test.filter, p) })
				got := names(runs, func(r ledger.Run) string {
					if r.Models.Total != 1 || r.Tools != 1 {
						t.Errorf("%s has %d model calls and %d tool calls, want one of each", r.UID, r.Models.Total, r.Tools)
					}
					if r.Superseded {
						return fmt.Sprint(r.UID, " superseded")
					}
					return r.UID
				})
				if diff := cmp.Diff(test.want, got); diff != "" {
					t.Errorf("pages of %d (-want +got):\n%s", limit, diff)
				}
			}
		})
	}
}
