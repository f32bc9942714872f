// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package policy compiles ToolPolicies and judges calls.
//
//	ToolPolicy ── Compile ─▶ Policy ─┐
//	                                 ├─ Judge ─▶ verdicts of the matching policies
//	call, agent, labels, usage, ... ─┘   Input
//
// Judge is a function of its arguments: it reads no clock and no cluster. The strictest verdict wins, which the core
// decides (agent.Judged).
package policy

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/shorten"
	"github.com/nestor-dev/nestor/internal/trigger/expr"
)

// Policy is a compiled ToolPolicy. It depends on the spec only, so it is compiled once for each generation.
type Policy struct {
	// verdict is what all verdicts of the policy have in common.
	verdict agent.Verdict
	match   v1beta1.PolicyMatch
	rules   []rule
	// waits is why the policy cannot be evaluated, or nil.
	waits error
}

// ErrNotCompiled is why a call waits for policies that will be compiled.
var ErrNotCompiled = errors.New("the ToolPolicies that match the call are not compiled yet")

// The reasons of Events about calls.
const (
	// EventDenied: a policy denies a call.
	EventDenied = "CallDenied"
	// EventFailed: an expression of a policy failed, which denies the call unless the policy only audits.
	EventFailed = "PolicyFailed"
)

// Unknown is the action of a verdict that depends on what is not known of a recorded call. The verdicts on calls that
// are going to be performed never have it.
const Unknown agent.PolicyAction = "Unknown"

type rule struct {
	spec v1beta1.PolicyRule
	when *expr.Condition
}

// Compile compiles a policy. One that does not compile is returned too: the calls that it matches cannot be judged. The
// error is an *expr.Error.
func Compile(object *v1beta1.ToolPolicy) (*Policy, error) {
	p := Waiting(object, nil)
	p.verdict.UID, p.verdict.Generation, p.verdict.Digest = string(object.UID), object.Generation, digest(object.Spec)
	p.verdict.Audit = object.Spec.Mode == v1beta1.PolicyAudit
	if _, err := metav1.LabelSelectorAsSelector(selectorOf(object.Spec.Namespaces)); err != nil {
		problem := &expr.Error{Field: "spec.namespaces.selector", Problem: err.Error()}
		p.waits = p.doesNotCompile(problem)
		return p, problem
	}
	for i, spec := range object.Spec.Rules {
		when, err := environment.Condition(fmt.Sprintf("spec.rules[%d].allowWhen", i), spec.AllowWhen)
		if err != nil {
			p.waits = p.doesNotCompile(err)
			return p, err
		}
		p.rules = append(p.rules, rule{spec, when})
	}
	return p, nil
}

func selectorOf(namespaces *v1beta1.AllowedNamespaces) *metav1.LabelSelector {
	if namespaces == nil {
		return nil
	}
	return namespaces.Selector
}

// Waiting returns a policy that cannot be evaluated: the calls that it matches wait.
func Waiting(object *v1beta1.ToolPolicy, why error) *Policy {
	p := &Policy{verdict: agent.Verdict{Policy: object.Namespace + "/" + object.Name}, waits: why}
	if object.Spec.Match != nil {
		p.match = *object.Spec.Match
	}
	return p
}

func (p *Policy) doesNotCompile(err error) error {
	return fmt.Errorf("the ToolPolicy %s does not compile: %w", p.Name(), err)
}

// Name returns the namespace and name of the policy.
func (p *Policy) Name() string { return p.verdict.Policy }

// digest identifies the content of a policy: a person who approved a call has approved it under these rules.
func digest(spec v1beta1.ToolPolicySpec) string {
	data, err := json.Marshal(spec)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:16])
}

// Matches reports whether the rules are about a call.
func (p *Policy) Matches(in Input) bool {
	if len(p.match.Tools) > 0 && !agent.MatchesAny(p.match.Tools, in.Call.Tool) {
		return false
	}
	return len(p.match.Roles) == 0 || in.Agent.Role == "" || slices.Contains(p.match.Roles, in.Agent.Role)
}

// Ready returns why one of the policies that match a call cannot be evaluated, or nil.
func Ready(policies []*Policy, in Input) error {
	var waits error
	for _, p := range policies {
		if p.waits != nil && p.Matches(in) && (waits == nil || errors.Is(waits, ErrNotCompiled)) {
			waits = p.waits
		}
	}
	return waits
}

// Judge returns the verdicts of the policies that match a call, in their order: one for each rule that does not allow
// it, or one that allows it. The error is why a matching policy cannot be evaluated, or that the context has ended: the
// call has to wait.
func Judge(ctx context.Context, policies []*Policy, in Input) ([]agent.Verdict, error) {
	var verdicts []agent.Verdict
	var variables map[string]any
	var invalid error
	if err := Ready(policies, in); err != nil {
		return nil, err
	}
	for _, p := range policies {
		if !p.Matches(in) {
			continue
		}
		if variables == nil && invalid == nil {
			variables, invalid = in.variables()
		}
		if invalid != nil {
			v := p.verdict
			v.Action, v.Failed, v.Message = agent.PolicyDeny, true, "The arguments cannot be judged: "+invalid.Error()
			verdicts = append(verdicts, v)
			continue
		}
		judged, err := p.judge(ctx, variables)
		if err != nil {
			return nil, err
		}
		if len(p.match.Roles) > 0 && slices.Contains(in.Unknown, "agent.role") {
			for i := range judged {
				judged[i].Action = Unknown
			}
		}
		verdicts = append(verdicts, judged...)
	}
	return verdicts, nil
}

func (p *Policy) judge(ctx context.Context, variables map[string]any) ([]agent.Verdict, error) {
	var verdicts []agent.Verdict
	for _, r := range p.rules {
		holds, err := r.when.Holds(ctx, variables)
		if holds {
			continue
		}
		if err != nil && ctx.Err() != nil { // that the operator was busy says nothing about the call
			return nil, ctx.Err()
		}
		v := p.verdict
		v.Rule, v.Message = r.spec.Name, r.spec.Message
		switch {
		case errors.Is(err, expr.ErrUnknown):
			v.Action = Unknown
		case err != nil:
			v.Action, v.Failed, v.Message = agent.PolicyDeny, true, failure(r.spec.Message, err)
		case r.spec.Otherwise == v1beta1.OutcomeRequireApproval:
			v.Action = agent.PolicyRequireApproval
			v.DenyRequesters, v.ExactAllowance = r.spec.DenyRequesters, r.spec.Allowance == v1beta1.AllowanceExact
		default:
			v.Action = agent.PolicyDeny
		}
		verdicts = append(verdicts, v)
	}
	if verdicts == nil {
		v := p.verdict
		v.Action = agent.PolicyAllow
		return []agent.Verdict{v}, nil
	}
	return verdicts, nil
}

// maxFailure bounds the text about an expression that failed.
const maxFailure = 200

// failure returns the message of a rule whose expression failed, with the reason.
func failure(message string, err error) string {
	problem := err.Error()
	var located *expr.Error
	if errors.As(err, &located) {
		problem = located.Problem
	}
	text := "its expression fails (" + shorten.Head(shorten.Line(problem), maxFailure) + ")"
	if message == "" {
		return text
	}
	return message + " — " + text
}
