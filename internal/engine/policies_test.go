// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/tool"
	"github.com/nestor-dev/nestor/internal/tool/builtin"
)

type judgeFunc func(PolicyInput) ([]agent.Verdict, error)

// changingPolicies are policies that a test changes while agents run.
type changingPolicies struct {
	mu    sync.Mutex
	judge judgeFunc // nil means that there are no policies
}

func (p *changingPolicies) set(judge judgeFunc) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.judge = judge
}

func (p *changingPolicies) Apply(namespace string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.judge != nil && namespace == "ns"
}

func (p *changingPolicies) Judge(_ context.Context, in PolicyInput) ([]agent.Verdict, bool, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.judge == nil {
		return nil, !in.Call.ReadOnly, nil
	}
	verdicts, err := p.judge(in)
	return verdicts, !in.Call.ReadOnly, err
}

// verdict returns policies with the same verdict for each call of a tool.
func verdict(tool string, action agent.PolicyAction, digest string) judgeFunc {
	return func(in PolicyInput) ([]agent.Verdict, error) {
		if in.Call.Tool != tool {
			return nil, nil
		}
		return []agent.Verdict{{
			Policy: "ns/writes", UID: "u", Digest: digest, Rule: "people", Message: "Ask first.", Action: action,
		}}, nil
	}
}

func newPolicedWorld(t *testing.T, script string, judge judgeFunc) (*world, *changingPolicies) {
	t.Helper()
	w := newWorld(t, script)
	policies := &changingPolicies{judge: judge}
	w.engine.options.Policies = policies
	return w, policies
}

func (w *world) eventTypes(uid string) []string {
	w.t.Helper()
	events, err := w.ledger.Events(w.t.Context(), uid, 0, 100)
	if err != nil {
		w.t.Fatal(err)
	}
	var types []string
	for _, e := range events {
		types = append(types, e.Type)
	}
	return types
}

func TestPolicyDeniesInlineTool(t *testing.T) {
	w, _ := newPolicedWorld(t, sum, verdict("calculator", agent.PolicyDeny, "a"))
	set, err := builtin.New(builtin.Options{})
	if err != nil {
		t.Fatal(err)
	}
	w.engine.options.InlineTools = set
	w.task("sum", nil)
	w.untilEnded("sum")
	calls := w.toolCalls("uid-sum", "calculator")
	if len(calls) != 1 || calls[0].Result == nil || calls[0].Result.Status != ledger.StatusDenied ||
		calls[0].DecidedBy != "policy ns/writes" {
		t.Errorf("the ledger has %+v, want a call that the policy denied", calls)
	}
	thoughts := w.toolCalls("uid-sum", "think")
	if len(thoughts) != 1 || thoughts[0].Result.Status != ledger.StatusSuccess {
		t.Errorf("the ledger has %+v, want the call that the policy allows", thoughts)
	}
	if got := w.eventTypes("uid-sum"); !slices.Equal(got[:3], []string{"Started", "ModelReplied", "Judged"}) {
		t.Errorf("the events are %v, want the verdict after the reply", got)
	}
}

// The policy changes between the approval and the intent: the person is asked again, and is shown the new rule.
func TestApprovalWithoutTheRuleIsAskedAgain(t *testing.T) {
	w, policies := newPolicedWorld(t, writerScript, verdict("write", agent.PolicyRequireApproval, "a"))
	var mu sync.Mutex
	var asked []string
	w.approve = func(e agent.AskPerson) *agent.Decided {
		mu.Lock()
		defer mu.Unlock()
		if e.Policy == nil || e.Policy.Rules[0].Message != "Ask first." {
			t.Errorf("the ask shows %+v, want the rule", e.Policy)
		}
		if !slices.Contains(asked, e.Call) {
			asked = append(asked, e.Call)
			policies.set(verdict("write", agent.PolicyRequireApproval, "b"))
		}
		return &agent.Decided{Call: e.Call, Approve: true, User: "alice", Digest: e.Digest()}
	}
	w.task("task", nil)
	w.untilEnded("task")
	if runs, _ := w.tools.count("write"); len(asked) != 2 || runs != 1 {
		t.Errorf("asked %v and ran %d times, want two asks and one run", asked, runs)
	}
}

func TestPolicyThatDeniesAfterTheApproval(t *testing.T) {
	w, policies := newPolicedWorld(t, writerScript, verdict("write", agent.PolicyRequireApproval, "a"))
	w.approve = func(e agent.AskPerson) *agent.Decided {
		policies.set(verdict("write", agent.PolicyDeny, "b"))
		return &agent.Decided{Call: e.Call, Approve: true, User: "alice", Digest: e.Digest()}
	}
	w.task("task", nil)
	w.untilEnded("task")
	if runs, _ := w.tools.count("write"); runs != 0 {
		t.Error("a call ran that a policy denies")
	}
}

func TestCallsWaitForPolicies(t *testing.T) {
	w, policies := newPolicedWorld(t, writerScript, func(PolicyInput) ([]agent.Verdict, error) {
		return nil, errors.New("the policy writes does not compile")
	})
	w.task("task", nil)
	w.until("the call to wait", func() bool {
		s, err := w.engine.View(t.Context(), "uid-task")
		return err == nil && strings.Contains(s.WaitsForPolicies(), "does not compile")
	})
	if runs, _ := w.tools.count("write"); runs != 0 {
		t.Error("a call ran that was not judged")
	}
	policies.set(verdict("write", agent.PolicyAllow, "a"))
	w.untilEnded("task")
	if runs, _ := w.tools.count("write"); runs != 1 {
		t.Errorf("the call ran %d times", runs)
	}
}

// A read-only call that a crash interrupted is judged before it is repeated, even if the policies are newer than the
// call.
func TestRepeatedCallIsJudgedAgain(t *testing.T) {
	w := newWorld(t, strings.ReplaceAll(writerScript, "write", "read"))
	running := make(chan struct{}, 1)
	w.tools.beforeAny = func(ctx context.Context, _ tool.Invocation) {
		running <- struct{}{}
		<-ctx.Done()
	}
	w.task("task", nil)
	<-running
	w.crash()
	w.start(w.ledger)
	w.engine.options.Policies = &changingPolicies{judge: verdict("read", agent.PolicyDeny, "a")}
	if _, err := w.engine.Recover(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.untilEnded("task")
	if runs, _ := w.tools.count("read"); runs != 1 {
		t.Errorf("the call ran %d times, want once before the crash", runs)
	}
}
