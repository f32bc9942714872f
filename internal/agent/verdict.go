// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/nestor-dev/nestor/internal/shorten"
)

// Judged is the fact that the policies of that moment have judged calls of the agent. In a state that is Policed, a
// call is performed only in the step of a Judged that contains it, so that no verdict is older than the intent of its
// call.
type Judged struct {
	// Policed reports whether policies apply to the agent at all.
	Policed bool `json:"policed,omitempty"`
	// Waits is why the calls cannot be judged now, or empty.
	Waits string       `json:"waits,omitempty"`
	Calls []JudgedCall `json:"calls,omitempty"`
}

func (Judged) fact() {}

// JudgedCall is what the policies say about one call.
type JudgedCall struct {
	Call string `json:"call"`
	// Labels are the content labels with which it was judged.
	Labels   []string  `json:"labels,omitempty"`
	Verdicts []Verdict `json:"verdicts,omitempty"`
	// Writes is how often the call may write: once if it is not read-only, and for each of its children that is not.
	Writes int64 `json:"writes,omitempty"`
}

// Denial returns the first verdict for which the call of an agent is refused. An orchestrator cannot wait for a person.
func (c JudgedCall) Denial(of Kind) (Verdict, bool) {
	for _, v := range c.Verdicts {
		if v.Action == PolicyDeny && !v.Audit {
			return v, true
		}
	}
	i := slices.IndexFunc(c.Verdicts, func(v Verdict) bool { return v.Action == PolicyRequireApproval && !v.Audit })
	if i < 0 || of != Orchestrator {
		return Verdict{}, false
	}
	return c.Verdicts[i], true
}

// Verdict is what one rule says about a call, or that a whole policy allows it.
type Verdict struct {
	// Policy is the namespace and name of the policy. UID, Generation and Digest identify its content.
	Policy     string `json:"policy"`
	UID        string `json:"uid,omitempty"`
	Generation int64  `json:"generation,omitempty"`
	Digest     string `json:"digest,omitempty"`
	// Rule is the rule that does not allow the call, and Message its text for people and models.
	Rule    string       `json:"rule,omitempty"`
	Message string       `json:"message,omitempty"`
	Action  PolicyAction `json:"action"`
	// Failed reports that the expression of the rule, or the reading of the arguments, failed.
	Failed bool `json:"failed,omitempty"`
	// Audit reports that the verdict is recorded and has no effect.
	Audit bool `json:"audit,omitempty"`
	// DenyRequesters rejects the approval of people who requested the work.
	DenyRequesters bool `json:"denyRequesters,omitempty"`
	// ExactAllowance lets an allowance approve the same call again.
	ExactAllowance bool `json:"exactAllowance,omitempty"`
}

// PolicyAction is what a verdict demands.
type PolicyAction string

// The actions of verdicts, from the mildest to the strictest.
const (
	PolicyAllow           PolicyAction = "Allow"
	PolicyRequireApproval PolicyAction = "RequireApproval"
	PolicyDeny            PolicyAction = "Deny"
)

// String names the rule and its message.
func (v Verdict) String() string {
	text := "policy " + v.Policy
	if v.Rule != "" {
		text += ", rule " + v.Rule
	}
	if v.Message != "" {
		text += ": " + v.Message
	}
	return text
}

// sameRule reports whether two verdicts are about the same rule with the same content.
func (v Verdict) sameRule(other Verdict) bool {
	return v.UID == other.UID && v.Digest == other.Digest && v.Rule == other.Rule
}

// CallVerdict is the newest judgement of a call that it survived.
type CallVerdict struct {
	// Rules are those that require an approval which the call does not have.
	Rules  []Verdict `json:"rules,omitempty"`
	Labels []string  `json:"labels,omitempty"`
	// Sources are the labels with their first sources, for the person who decides.
	Sources Labels `json:"sources,omitempty"`
	// Writes is how often the call may write.
	Writes int64 `json:"writes,omitempty"`
}

// The bounds of what an ask shows. They are those of a status.
const (
	maxShownRules  = 2
	maxShownLabels = 3
)

// Reasons are why policies require an approval, as an ask shows them. The approval counts for these rules only.
type Reasons struct {
	Rules  []Verdict
	Labels Labels
	// MoreRules and MoreLabels count what is not shown.
	MoreRules, MoreLabels int
}

// Reasons returns what the person who decides is shown. LabelUntrusted and LabelOverflow come first.
func (v *CallVerdict) Reasons() Reasons {
	if len(v.rules()) == 0 {
		return Reasons{}
	}
	labels := slices.Clone(v.Sources)
	slices.SortStableFunc(labels, func(a, b Label) int { return cmp.Compare(b.severity(), a.severity()) })
	rules, shown := min(len(v.Rules), maxShownRules), min(len(labels), maxShownLabels)
	return Reasons{Rules: v.Rules[:rules], Labels: labels[:shown], MoreRules: len(v.Rules) - rules, MoreLabels: len(labels) - shown}
}

// Lines describe the reasons to the person who decides. None contains a line break.
func (r Reasons) Lines() []string {
	var lines []string
	for _, rule := range r.Rules {
		lines = append(lines, shorten.Line("Required by "+rule.String()))
	}
	if r.MoreRules > 0 {
		lines = append(lines, fmt.Sprintf("and %d more, about which you are asked next", r.MoreRules))
	}
	if len(r.Labels) == 0 {
		return lines
	}
	var labels []string
	for _, label := range r.Labels {
		labels = append(labels, label.String())
	}
	if r.MoreLabels > 0 {
		labels = append(labels, fmt.Sprintf("and %d more", r.MoreLabels))
	}
	return append(lines, shorten.Line("The agent's context is "+strings.Join(labels, ", ")))
}

// AcceptsAllowance reports whether an allowance may approve the call again: every rule must accept that, and the person
// must be shown all rules and labels.
func (v *CallVerdict) AcceptsAllowance() bool {
	shown := v.Reasons()
	return shown.MoreRules == 0 && shown.MoreLabels == 0 && !slices.ContainsFunc(shown.Rules, func(v Verdict) bool { return !v.ExactAllowance })
}

// rules returns the rules; none for nil.
func (v *CallVerdict) rules() []Verdict {
	if v == nil {
		return nil
	}
	return v.Rules
}
