// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/tool"
)

// restartWith starts another engine with the policies, as after a crash.
func (w *world) restartWith(p Policies) {
	w.t.Helper()
	w.crash()
	w.start(w.ledger)
	w.engine.options.Policies = p
	if _, err := w.engine.Recover(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
}

// A read-only tool waits for an answer when the engine crashes. The call runs again after the answer, under a key of its own.
func TestPolicedQuestionSurvivesCrash(t *testing.T) {
	script := strings.ReplaceAll(writerScript, "name: write,", "name: read,")
	w, policies := newPolicedWorld(t, script, verdict("read", agent.PolicyAllow, "a"))
	started := make(chan struct{}, 10)
	w.tools.output = askDuring(started)
	w.task("task", nil)
	first := w.untilAsked("uid-task", "Which file?")
	w.restartWith(policies)
	w.untilAsked("uid-task", "Which file?")
	if s, err := w.engine.View(t.Context(), "uid-task"); err != nil || !s.Suspended() {
		t.Errorf("the time for which it waits counts (%v)", err)
	}
	w.deliver("uid-task", agent.Answered{Call: first, Text: "a.go"})
	w.deliver("uid-task", agent.Answered{Call: w.untilAsked("uid-task", "Which line?"), Text: "7"})
	if s := w.untilEnded("task"); !strings.Contains(toolText(s), "done with a.go:7") {
		t.Errorf("the tool's answer is %q", toolText(s))
	}
	checkReplay(t, w, "uid-task")
}

// A person denies a call that has begun: its result is unknown, and the row that it has is enough.
func TestDenialOfCallThatHasBegun(t *testing.T) {
	w, _ := newPolicedWorld(t, writerScript, func(in PolicyInput) ([]agent.Verdict, error) {
		v := agent.Verdict{Policy: "ns/p", UID: "u", Rule: "clean", Action: agent.PolicyAllow}
		if in.Call.Tool == "write" && slices.Contains(in.Labels, "untrusted") {
			v.Action = agent.PolicyRequireApproval
		}
		return []agent.Verdict{v}, nil
	})
	started := make(chan struct{}, 10)
	w.tools.output = askDuring(started)
	w.approve = func(e agent.AskPerson) *agent.Decided {
		return &agent.Decided{Call: e.Call, User: "alice", Digest: e.Digest()}
	}
	w.task("task", nil)
	question := w.untilAsked("uid-task", "Which file?")
	w.deliver("uid-task", agent.Answered{Call: question, Text: "a.go", Labels: []string{"untrusted"}})
	if s := w.untilEnded("task"); !strings.Contains(toolText(s), "unknown") {
		t.Errorf("the tool's answer is %q, want that its outcome is unknown", toolText(s))
	}
	checkReplay(t, w, "uid-task")
}

// A person denies the repetition of a read that a crash interrupted: it has a row.
func TestDenialOfInterruptedRead(t *testing.T) {
	w := newWorld(t, strings.ReplaceAll(writerScript, "write", "read"))
	running := make(chan struct{}, 1)
	w.tools.beforeAny = func(ctx context.Context, _ tool.Invocation) {
		running <- struct{}{}
		<-ctx.Done()
	}
	w.approve = func(e agent.AskPerson) *agent.Decided {
		return &agent.Decided{Call: e.Call, User: "alice", Digest: e.Digest()}
	}
	w.task("task", nil)
	<-running
	w.restartWith(&changingPolicies{judge: verdict("read", agent.PolicyRequireApproval, "a")})
	if s := w.untilEnded("task"); !strings.Contains(toolText(s), "denied") {
		t.Errorf("the tool's answer is %q", toolText(s))
	}
}

// The previous owner of the shard still makes a write when new policies apply: no person is asked about it, and it is made once.
func TestPoliciesLeaveDetachedCallAlone(t *testing.T) {
	for name, action := range map[string]agent.PolicyAction{"approval": agent.PolicyRequireApproval, "deny": agent.PolicyDeny} {
		t.Run(name, func(t *testing.T) {
			w, a, b, finish := longWrite(t)
			w.approve = func(e agent.AskPerson) *agent.Decided {
				return &agent.Decided{Call: e.Call, Approve: true, User: "alice", Digest: e.Digest()}
			}
			b.Engine(0).options.Policies = &changingPolicies{judge: verdict("write", action, "b")}
			handOver(t, a, b, 0)
			w.until("the agent to be taken over", func() bool { return slices.Contains(w.eventTypes("uid-long"), "Restarted") })
			close(finish)
			if got := b.untilEnded("long").Outcome.Result.Text; got != "Written." {
				t.Errorf("the result is %q", got)
			}
			w.wantWrites(1)
		})
	}
}

// An interrupted read begins under a new key, even if it had to wait for policies.
func TestInterruptedReadWaitsForPolicies(t *testing.T) {
	broken := func(PolicyInput) ([]agent.Verdict, error) { return nil, errAbandoned }
	w, policies := newPolicedWorld(t, strings.ReplaceAll(writerScript, "write", "read"), verdict("read", agent.PolicyAllow, "a"))
	running := make(chan struct{}, 1)
	w.tools.beforeAny = func(ctx context.Context, _ tool.Invocation) {
		running <- struct{}{}
		<-ctx.Done()
	}
	w.task("task", nil)
	<-running
	w.tools.mu.Lock()
	w.tools.beforeAny = nil
	w.tools.mu.Unlock()
	policies.set(broken)
	w.restartWith(policies)
	w.until("the call to wait", func() bool {
		s, err := w.engine.View(t.Context(), "uid-task")
		return err == nil && s.WaitsForPolicies() != ""
	})
	policies.set(verdict("read", agent.PolicyAllow, "a"))
	w.untilEnded("task")
}
