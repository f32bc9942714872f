// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/ledger"
)

// writersScript is the script of a chat whose six agents write three times each, two of them in one reply.
const writersScript = `
name: writers
rules:
- match: {role: orchestrator, lastMessage: Begin}
  reply:
    toolCalls:
    - name: spawn_agents
      arguments: {tasks: [{role: coder, task: A}, {role: coder, task: B}, {role: coder, task: C}, {role: coder, task: D}, {role: coder, task: E}, {role: coder, task: F}]}
- {match: {role: orchestrator, lastMessage: Finished}, reply: {text: All have ended.}}
- {match: {role: orchestrator}, reply: {text: They work.}}
- match: {role: coder, turn: 1}
  reply: {toolCalls: [{name: write, arguments: {path: a.go}}, {name: patch, arguments: {path: b.go}}]}
- match: {role: coder, turn: 2}
  reply: {toolCalls: [{name: write, arguments: {path: c.go}}]}
- {match: {role: coder}, reply: {toolCalls: [{name: submit_result, arguments: {result: Finished.}}]}}
`

// cappedWrites allow a number of writes of a tree. The first writes of the first two agents are judged at the same time.
type cappedWrites struct {
	limit int64

	mu    sync.Mutex
	met   map[string]bool
	ready chan struct{}
}

func (p *cappedWrites) Apply(string) bool { return true }

func (p *cappedWrites) Judge(ctx context.Context, in PolicyInput) ([]agent.Verdict, bool, error) {
	if in.Call.ReadOnly {
		return nil, false, nil
	}
	p.meet(ctx, in.Agent.UID)
	if in.Usage.Writes < p.limit {
		return nil, true, nil
	}
	return []agent.Verdict{{Policy: "ns/writes", UID: "u", Rule: "limit", Action: agent.PolicyDeny}}, true, nil
}

// meet waits for the second agent.
func (p *cappedWrites) meet(ctx context.Context, uid string) {
	p.mu.Lock()
	if len(p.met) == 2 || p.met[uid] {
		p.mu.Unlock()
		return
	}
	if p.met[uid] = true; len(p.met) == 2 {
		close(p.ready)
	}
	p.mu.Unlock()
	select {
	case <-p.ready:
	case <-ctx.Done():
	}
}

// However many agents of a tree write at the same time, and however often the engine is killed, no more writes start than a policy
// allows for the tree, and no fewer.
func TestWritesOfTreeHold(t *testing.T) {
	for limit, kills := range map[int64]int{1: 0, 2: 2, 7: 4} {
		t.Run(fmt.Sprintf("limit=%d,kills=%d", limit, kills), func(t *testing.T) {
			w := newWorld(t, writersScript)
			w.policies = &cappedWrites{limit: limit, met: map[string]bool{}, ready: make(chan struct{})}
			w.configure = func(c *agent.Config) { c.Role.Approval = agent.ApproveNever }
			w.stop()
			w.start(w.ledger)
			w.chat(nil)
			w.sendMessage("m1", "Begin")
			w.awaitRecovery = true
			for kill := range kills {
				w.until("some progress", func() bool { return len(w.model.Requests()) > 3*(kill+1) })
				w.restart()
				w.sendMessage("m1", "Begin")
			}
			w.untilPosted("All have ended.")
			started := int64(0)
			for _, node := range w.tree() {
				for _, name := range []string{"write", "patch"} {
					for _, call := range w.toolCalls(node.UID, name) {
						if call.Decision != ledger.DecisionDeny {
							started++
						}
					}
				}
				checkReplay(t, w, node.UID)
			}
			wrote, _ := w.tools.count("write")
			patched, _ := w.tools.count("patch")
			if started != limit || int64(wrote+patched) > limit {
				t.Errorf("%d writes started and %d ran, want %d", started, wrote+patched, limit)
			}
			if used, _ := w.current().budgets.TreeUsage("uid-chat"); used.Writes != limit {
				t.Errorf("the tree counts %d writes, want %d", used.Writes, limit)
			}
		})
	}
}

// A call that a crash interrupted and that may be repeated counts once: it does not use up the limit for itself.
func TestRepeatedWriteCountsOnce(t *testing.T) {
	w := newWorld(t, writerScript)
	w.policies = &cappedWrites{limit: 1, met: map[string]bool{"a": true, "b": true}}
	w.stop()
	w.start(w.ledger)
	running := make(chan struct{}, 1)
	w.tools.hangOnce(running)
	w.task("task", func(c *agent.Config) {
		for i := range c.Tools {
			c.Tools[i].Idempotent = true
		}
	})
	<-running
	w.restart()
	s := w.untilEnded("task")
	if runs, _ := w.tools.count("write"); runs != 2 || s.Usage.Writes != 1 {
		t.Errorf("the call ran %d times and counts %d, want its repetition to count once", runs, s.Usage.Writes)
	}
}
