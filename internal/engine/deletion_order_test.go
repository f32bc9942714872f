// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"slices"
	"sync"
	"testing"

	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/ledger"
)

// recordedEnds stores the agents in the order in which their ends, or the decisions to end them, are recorded.
type recordedEnds struct {
	mu   sync.Mutex
	uids []string
}

func (r *recordedEnds) listen(w *world) {
	hear := func(_ *Engine, c Change) {
		cancelled := func(e agent.Event) bool { _, ok := e.Fact.(agent.Cancelled); return ok }
		if !slices.ContainsFunc(c.Events, cancelled) {
			return
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		if !slices.Contains(r.uids, c.Agent.UID) {
			r.uids = append(r.uids, c.Agent.UID)
		}
	}
	w.onRecorded.Store(&hear)
}

func (r *recordedEnds) list() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.uids)
}

// The reconcile of an object below a deleted one, or of one that the garbage collector deleted after it, may come first.
func TestEndStartsAtDeletedObject(t *testing.T) {
	const chat, coder, tester = "uid-chat", "uid-chat-1", "uid-chat-1-1"
	end := func(w *world, uid string) error { return w.engine.End(w.t.Context(), uid) }
	endIfDeleted := func(w *world, uid string) error { _, err := w.engine.EndIfDeleted(w.t.Context(), uid); return err }
	for name, test := range map[string]struct {
		deleted map[string]bool // true means that only an object above was
		first   func(*world, string) error
		want    []string
	}{
		"sub-agent, seen from below":      {map[string]bool{coder: false, tester: true}, endIfDeleted, []string{coder, tester}},
		"its task, seen from below":       {map[string]bool{coder: true, tester: true}, endIfDeleted, []string{coder, tester}},
		"chat, seen from below":           {map[string]bool{chat: false, coder: true, tester: true}, endIfDeleted, []string{chat, coder, tester}},
		"all, the deepest is seen first":  {map[string]bool{chat: false, coder: false, tester: false}, end, []string{chat, coder, tester}},
		"both agents, the lower is first": {map[string]bool{coder: false, tester: false}, end, []string{coder, tester}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newHangingTree(t)
			ends := &recordedEnds{}
			ends.listen(w)
			before := w.modelCalls(test.want...)
			for uid, above := range test.deleted {
				w.deleted.Store(uid, above)
			}
			if err := test.first(w, tester); err != nil {
				t.Fatal(err)
			}
			w.untilCancelled(test.want...)
			w.until("the ends to be reported", func() bool { return len(ends.list()) == len(test.want) })
			if got := ends.list(); !slices.Equal(got, test.want) {
				t.Errorf("they ended in the order %v, want %v", got, test.want)
			}
			if after := w.modelCalls(test.want...); after != before {
				t.Errorf("the deleted agents made %d more model calls", after-before)
			}
			// Below a deleted chat, the chat's cancel arrives first: the coder then waits for its child, as after any cancel.
			isTop := test.want[0] == coder && !test.deleted[coder]
			if isTop && w.record(tester).FinishedAt.Before(w.record(coder).FinishedAt) {
				t.Error("the deleted agent ended after its child")
			}
		})
	}
}

// The deleted agent has an end in the ledger; the one that asked for it continues with that.
func TestEndReachesTheAgentAbove(t *testing.T) {
	w := newHangingTree(t)
	w.deleted.Store("uid-chat-1", false)
	w.deleted.Store("uid-chat-1-1", true)
	before := w.modelCalls("uid-chat")
	if _, err := w.engine.EndIfDeleted(t.Context(), "uid-chat-1-1"); err != nil {
		t.Fatal(err)
	}
	w.until("the chat to get the outcome", func() bool { return w.modelCalls("uid-chat") > before })
}

// A message that is delivered together with the end of a chat, after it, starts no turn.
func TestNothingFollowsEndInBatch(t *testing.T) {
	w := newWorld(t, "load")
	w.chat(nil)
	w.sendMessage("m1", "Load")
	w.untilPosted("Loaded.")
	w.until("the chat to be idle", func() bool {
		s, err := w.engine.View(t.Context(), "uid-chat")
		return err == nil && s.Phase == agent.PhaseIdle && len(s.Outbox) == 0
	})
	before := w.modelCalls("uid-chat")
	late := agent.MessageArrived{Message: "m2", Text: "Load"}
	if err := w.engine.enqueue("uid-chat", delivery{fact: deletionFact, end: true}, delivery{fact: late}); err != nil {
		t.Fatal(err)
	}
	w.untilCancelled("uid-chat")
	if after := w.modelCalls("uid-chat"); after != before {
		t.Errorf("%d model calls were recorded after the end", after-before)
	}
}

// modelCalls returns how many model calls of agents are recorded.
func (w *world) modelCalls(uids ...string) int {
	w.t.Helper()
	count := 0
	for _, uid := range uids {
		calls, err := w.ledger.ModelCalls(w.t.Context(), ledger.CallFilter{Agent: uid}, ledger.Page{})
		if err != nil {
			w.t.Fatal(err)
		}
		count += len(calls.Items)
	}
	return count
}
