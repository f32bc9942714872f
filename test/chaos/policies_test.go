// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/ledger"
)

// standingPolicy allows everything. In half of the runs it exists from the beginning, so that every call must have its
// verdict; in the others, policies appear and disappear.
const standingPolicy = "standing"

// changingPolicies are the names of the policies that appear, change, break and are deleted.
var changingPolicies = []string{"p0", "p1", "p2"}

// expressions are the rules of changing policies, with what happens to other calls. None of them decides about a call
// that waits for a person who never answers, and none judges delegations: the workload would end otherwise.
var expressions = []v1beta1.PolicyRule{
	{Name: "no-writes", AllowWhen: "call.tool != 'chaos__write'"},
	{Name: "people", AllowWhen: "call.tool == 'chaos__look'", Otherwise: v1beta1.OutcomeRequireApproval},
	{Name: "fails", AllowWhen: "call.tool == 'chaos__look' || call.arguments.nothing == 'x'"},
	{Name: "few-writes", AllowWhen: "call.tool == 'chaos__look' || usage.writes < 3", Otherwise: v1beta1.OutcomeRequireApproval},
	{Name: "broken", AllowWhen: "call.arguments.step =="},
	{Name: "everything", AllowWhen: "true"},
}

func chaosPolicy(name string, rules ...v1beta1.PolicyRule) *v1beta1.ToolPolicy {
	p := &v1beta1.ToolPolicy{ObjectMeta: named(name)}
	p.Spec = v1beta1.ToolPolicySpec{Match: &v1beta1.PolicyMatch{Tools: []string{"chaos__*"}}, Rules: rules}
	return p
}

// policyChanger changes policies while agents run.
type policyChanger struct {
	world    *world
	random   *rand.Rand
	standing bool
	counts   map[string]int
}

func newPolicyChanger(w *world) *policyChanger {
	random := w.settings.random("policies")
	return &policyChanger{world: w, random: random, standing: random.IntN(2) == 0, counts: map[string]int{}}
}

// fixtures are the policies that exist before the first operator starts.
func (c *policyChanger) fixtures() []client.Object {
	if !c.standing {
		return nil
	}
	return []client.Object{chaosPolicy(standingPolicy, v1beta1.PolicyRule{Name: "everything", AllowWhen: "true"})}
}

// run changes policies until ctx ends. Failures are expected: the API server may be unavailable, or refuse an
// expression.
func (c *policyChanger) run(ctx context.Context) {
	for ctx.Err() == nil {
		c.change(ctx)
		pause(ctx, time.Duration(50+c.random.IntN(400))*time.Millisecond)
	}
}

func (c *policyChanger) change(ctx context.Context) {
	p := chaosPolicy(changingPolicies[c.random.IntN(len(changingPolicies))])
	rule := expressions[c.random.IntN(len(expressions))]
	rule.AllowWhen = "call.arguments.step == 'hold' || " + rule.AllowWhen
	audit := c.random.IntN(4) == 0
	if c.random.IntN(3) == 0 {
		c.count("deleted", c.world.stack.API.Delete(ctx, p))
		return
	}
	set := func() {
		p.Spec.Rules = []v1beta1.PolicyRule{rule}
		if p.Spec.Mode = v1beta1.PolicyEnforce; audit {
			p.Spec.Mode = v1beta1.PolicyAudit
		}
	}
	if err := c.world.stack.API.Get(ctx, client.ObjectKeyFromObject(p), p); err == nil {
		set()
		c.count("changed to "+rule.Name, c.world.stack.API.Update(ctx, p))
		return
	}
	set()
	c.count("created with "+rule.Name, c.world.stack.API.Create(ctx, p))
}

func (c *policyChanger) count(what string, err error) {
	if err == nil {
		c.counts[what]++
	}
}

// end deletes the changing policies, so that what waits for them continues.
func (c *policyChanger) end(ctx context.Context) error {
	return eventually(ctx, settleTimeout, func(ctx context.Context) error {
		for _, name := range changingPolicies {
			if err := c.world.stack.API.Delete(ctx, chaosPolicy(name)); !apierrors.IsNotFound(err) {
				return fmt.Errorf("the policy %s: %w", name, err)
			}
		}
		return nil
	})
}

// checkVerdicts checks in the ledger that no call was performed without a verdict of that moment: in the event that
// started it, which permits it, and with an approval for each rule that requires one. If a policy exists during the
// whole run, every call has its verdict.
func (w *world) checkVerdicts(ctx context.Context) error {
	lives, err := w.readAgents(ctx)
	if err != nil {
		return err
	}
	var wrong problems
	judgements := 0
	for uid, l := range lives {
		if l.damaged {
			continue
		}
		performed := verdictsOf(l, &wrong)
		judgements += len(performed)
		for _, call := range l.calls {
			policies := performed[strings.TrimPrefix(call.Key, uid+"/")]
			if !w.policies.standing || call.Decision == ledger.DecisionDeny || !strings.HasPrefix(call.Tool, "chaos__") {
				continue
			}
			if !slices.Contains(policies, namespace+"/"+standingPolicy) {
				wrong.add("%s of %s (%s) has no verdict of the policy %s, but of %q", call.Tool, l.record.Name, call.Key, standingPolicy, policies)
			}
		}
	}
	if judgements == 0 && w.policies.standing {
		wrong.add("no call was judged")
	}
	w.logf("%d calls were performed with a verdict, and a standing policy existed: %t", judgements, w.policies.standing)
	return wrong.err()
}

// verdictsOf folds the events of an agent, and returns the policies with a verdict on each performed call, by the key
// of its effect.
func verdictsOf(l *agentRecord, wrong *problems) map[string][]string {
	performed := map[string][]string{}
	var s agent.State
	for _, e := range l.events {
		next, effects := agent.Step(s, e)
		s = next
		if _, renamed := e.Fact.(agent.NameTaken); renamed || !s.Policed {
			continue
		}
		judged, _ := e.Fact.(agent.Judged)
		for _, effect := range effects {
			call := performedCall(s, effect)
			if call == "" {
				continue
			}
			i := slices.IndexFunc(judged.Calls, func(c agent.JudgedCall) bool { return c.Call == call })
			if i < 0 {
				wrong.add("%s of %s started in %s, without a verdict of that moment", effect, l.record.Name, agent.FactType(e.Fact))
				continue
			}
			policies := []string{}
			for _, v := range judged.Calls[i].Verdicts {
				policies = append(policies, v.Policy)
				if problem := forbids(s, call, v); problem != "" {
					wrong.add("%s of %s started although %s: %s", effect, l.record.Name, problem, v)
				}
			}
			performed[effect.Key()] = policies
		}
	}
	return performed
}

// performedCall returns the call that an effect performs, or "". The tools of an orchestrator are tasks, which judge
// their own call.
func performedCall(s agent.State, effect agent.Effect) string {
	switch e := effect.(type) {
	case agent.RunTool:
		return e.Call
	case agent.StartChild:
		if e.Child.Role != "" && !s.IsReviewer(e.Child.Name) {
			return e.Child.Group
		}
	case agent.AskPerson:
		if e.Kind == agent.AskQuestion && !e.OfTool {
			return e.Call
		}
	}
	return ""
}

// forbids returns why a call must not start with a verdict, or "".
func forbids(s agent.State, call string, v agent.Verdict) string {
	switch {
	case v.Audit || v.Action == agent.PolicyAllow:
		return ""
	case v.Action == agent.PolicyDeny:
		return "a policy denies it"
	}
	for _, c := range s.Batch {
		shown := func(a agent.Verdict) bool { return a.UID == v.UID && a.Digest == v.Digest && a.Rule == v.Rule }
		if c.ID == call && slices.ContainsFunc(c.Approved, shown) {
			return ""
		}
	}
	return "no person who approved it was shown a rule"
}
