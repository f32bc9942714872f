// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package ledgertest

import (
	"errors"
	"strings"
	"testing"

	"github.com/nestor-dev/nestor/internal/ledger"
)

func testToolOutputsOfATree(t *testing.T, db Database) {
	l := db.Open(t)
	trees := map[string]string{}
	begin := func(uid, root, namespace string, seconds int, callIDs ...string) {
		trees[uid] = namespace + "/" + root
		agent := Agent(uid)
		agent.Root, agent.Namespace = root, namespace
		batch := First(agent, 1)
		for _, id := range callIDs {
			key := uid + "/" + id
			batch.ToolCalls = append(batch.ToolCalls, toolCall(key, id, seconds))
			batch.ToolResults = append(batch.ToolResults, ledger.ToolResult{Key: key, Status: ledger.StatusSuccess, Output: []byte(key), FinishedAt: at(seconds + 1)})
		}
		Append(t, l, batch)
	}
	begin("chat", "chat", "team-a", 1, "call_1")
	begin("first", "chat", "team-a", 2, "call_1", "call_2")
	begin("second", "chat", "team-a", 3, "call_1", "call_3", "first-name/call_2")
	begin("other", "other", "team-a", 4, "call_1", "call_4")
	begin("stranger", "chat", "team-b", 5, "call_5")
	for _, c := range []struct{ agent, call, want string }{
		{"chat", "call_1", "chat/call_1"},
		{"first", "call_1", "first/call_1"},
		{"first", "call_3", "second/call_3"},
		{"chat", "call_2", "first/call_2"},
		{"second", "chat-name/call_1", "chat/call_1"},
		{"chat", "first-name/call_1", "first/call_1"},
		{"chat", "second-name/first-name/call_2", "second/first-name/call_2"},
		{"other", "call_1", "other/call_1"},
		{"chat", "call_4", ""},
		{"chat", "other-name/call_4", ""},
		{"chat", "call_5", ""},
		{"other", "call_2", ""},
		{"other", "first-name/call_2", ""},
		{"nobody", "call_1", ""},
	} {
		part, err := l.ToolOutput(t.Context(), c.agent, c.call, 0, 100)
		switch {
		case c.want == "" && !errors.Is(err, ledger.ErrNotFound):
			t.Errorf("%s reads %s: %q (%v), want ErrNotFound", c.agent, c.call, part.Data, err)
		case c.want != "" && string(part.Data) != c.want:
			t.Errorf("%s reads %s: %q (%v), want %q", c.agent, c.call, part.Data, err, c.want)
		}
	} // An agent must not read anything of another tree.
	for agent, tree := range trees {
		for other := range trees {
			for _, id := range []string{"call_1", "call_2", "call_3", "call_4", "call_5"} {
				for _, call := range []string{id, other + "-name/" + id, other + "/" + id} {
					part, err := l.ToolOutput(t.Context(), agent, call, 0, 100)
					if owner, _, _ := strings.Cut(string(part.Data), "/"); err == nil && trees[owner] != tree {
						t.Errorf("%s of the tree %s reads %s: the output %q of the tree %s", agent, tree, call, part.Data, trees[owner])
					}
				}
			}
		}
	}
}
