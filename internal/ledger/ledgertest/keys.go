// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package ledgertest

import (
	"errors"
	"testing"

	"github.com/nestor-dev/nestor/internal/ledger"
)

// testKeysOfAllForms uses keys that are stored without the agent, keys that only look so, and keys of other forms.
func testKeysOfAllForms(t *testing.T, db Database) {
	l := db.Open(t)
	models := map[string][]string{
		"a": {"a/model/m1/1", "a/model/m1/2", "a/model/", "b/model/m1/2", "a/tool/m1/c", "a/models/m1", "a", "m1"},
		"b": {"b/model/m1/1", "b/model", "a/model/m9/1", "1/m"},
	}
	for agent, keys := range models {
		batch := First(Agent(agent), 1)
		for i, key := range keys {
			call := toolCall(key+"/tool", "c", i)
			call.ModelCall = key
			batch.ModelCalls = append(batch.ModelCalls, modelCall(key, i))
			batch.ModelResults = append(batch.ModelResults, modelDone(key, ledger.StatusSuccess, i))
			batch.ToolCalls = append(batch.ToolCalls, call)
		}
		batch.ToolCalls = append(batch.ToolCalls, toolCall(agent+"/tool/m1/c", "c", 0))
		Append(t, l, batch)
	}
	for agent, keys := range models {
		for _, key := range keys {
			call := must(l.ModelCall(t.Context(), key))(t)
			tool := must(l.ToolCall(t.Context(), key+"/tool"))(t)
			if call.Agent != agent || call.Key != key || call.Result.Key != key || tool.Agent != agent || tool.ModelCall != key {
				t.Errorf("%s of agent %s is read as %s of %s, its tool call has %s", key, agent, call.Key, call.Agent, tool.ModelCall)
			}
			again := ledger.Batch{Agent: "a", After: 1, ModelCalls: []ledger.ModelCall{modelCall(key, 9)}}
			if err := l.Append(t.Context(), again); agent == "a" && !errors.Is(err, ledger.ErrKeyTaken) {
				t.Errorf("%s was taken twice: %v", key, err)
			}
		}
		if tool := must(l.ToolCall(t.Context(), agent+"/tool/m1/c"))(t); tool.Agent != agent || tool.Key != agent+"/tool/m1/c" {
			t.Errorf("the tool call of agent %s is read as %s of %s", agent, tool.Key, tool.Agent)
		}
	}
	for _, key := range []string{"c/model/m1/1", "a/model/m9/9", "/m1/1", "/", ""} {
		if _, err := l.ModelCall(t.Context(), key); !errors.Is(err, ledger.ErrNotFound) {
			t.Errorf("%q is %v, want ErrNotFound", key, err)
		}
	}
	rooted := ledger.Batch{Agent: "a", After: 1, ToolCalls: []ledger.ToolCall{toolCall("/m1/1", "c", 1)}}
	if err := l.Append(t.Context(), rooted); !errors.Is(err, ledger.ErrInvalid) {
		t.Errorf("a key without an agent was accepted: %v", err)
	}
}
