// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package policies

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	historyv1 "github.com/nestor-dev/nestor/api/history/v1beta1"
	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/client/history"
	"github.com/nestor-dev/nestor/internal/policy"
)

// Trial evaluates policies on the recorded calls of a namespace.
type Trial struct {
	Policies []*policy.Policy
	Reader   *history.Reader
	Facts    *Facts
	// From is the time of the oldest calls.
	From time.Time
	// Progress is called after each run, unless it is nil.
	Progress func(Report)
}

// Report is what policies say about recorded calls.
type Report struct {
	// Runs counts the agents with calls, and Calls their calls. Matched counts the calls that the policies match.
	Runs    int `json:"runs"`
	Calls   int `json:"calls"`
	Matched int `json:"matched"`
	// Denied, Approvals and Unknown count the calls whose strictest verdict is that they are denied, that they wait for a
	// person, or that it depends on what is not known. Failed counts those of Denied for which an expression fails.
	Denied    int `json:"denied"`
	Approvals int `json:"approvals"`
	Unknown   int `json:"unknown"`
	Failed    int `json:"failed"`
	// Rules counts the calls that each rule does not allow.
	Rules []RuleCount `json:"rules,omitempty"`
	// Findings are the calls that are not allowed.
	Findings []Finding `json:"findings,omitempty"`
}

// RuleCount counts the calls about which a rule says the same.
type RuleCount struct {
	Policy string             `json:"policy"`
	Rule   string             `json:"rule,omitempty"`
	Action agent.PolicyAction `json:"action"`
	Failed bool               `json:"failed,omitempty"`
	Calls  int                `json:"calls"`
}

// Finding is a call that policies do not allow.
type Finding struct {
	Time       time.Time          `json:"time"`
	Transcript string             `json:"transcript"`
	Role       string             `json:"role,omitempty"`
	ToolCall   string             `json:"toolCall"`
	Tool       string             `json:"tool"`
	Arguments  json.RawMessage    `json:"arguments,omitempty"`
	Labels     []string           `json:"contentLabels,omitempty"`
	Action     agent.PolicyAction `json:"action"`
	Verdicts   []agent.Verdict    `json:"verdicts"`
	// Unknown are the variables whose values are not known.
	Unknown []string `json:"unknown,omitempty"`
}

// severity orders what happens to a call, from the mildest.
func severity(a agent.PolicyAction) int {
	order := []agent.PolicyAction{agent.PolicyAllow, policy.Unknown, agent.PolicyRequireApproval, agent.PolicyDeny}
	return slices.Index(order, a)
}

// Run evaluates the policies.
func (t Trial) Run(ctx context.Context) (Report, error) {
	var report Report
	err := t.Reader.Transcripts(ctx, func(run historyv1.Transcript) error {
		if end := run.Status.CompletionTime; end != nil && end.Time.Before(t.From) {
			return nil
		}
		before := report.Calls
		tried := tried{trial: t, run: run}
		err := t.Reader.Calls(ctx, run.Name, t.From, func(page historyv1.TranscriptCalls) error {
			for _, m := range page.Moments {
				if err := tried.add(ctx, page, m); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil && !apierrors.IsNotFound(err) { // it may have been pruned just now
			return err
		}
		tried.report(&report)
		if report.Calls > before {
			report.Runs++
		}
		if t.Progress != nil {
			t.Progress(report)
		}
		return nil
	})
	return report, err
}

// tried are the calls of one run.
type tried struct {
	trial Trial
	run   historyv1.Transcript
	calls []*triedCall
}

type triedCall struct {
	seq     int64
	matched bool
	finding Finding
}

// of returns the call that a moment is about. Models reuse the ids of calls: a call that is planned again is another one.
func (t *tried) of(m historyv1.CallMoment) *triedCall {
	for _, c := range slices.Backward(t.calls) {
		if c.finding.ToolCall == m.ToolCall && (m.Kind != historyv1.CallPlanned || c.seq == m.Seq) {
			return c
		}
	}
	c := &triedCall{seq: m.Seq, finding: Finding{
		Time: m.Time.Time, Transcript: t.run.Name, ToolCall: m.ToolCall, Tool: m.Tool, Action: agent.PolicyAllow,
	}}
	t.calls = append(t.calls, c)
	return c
}

// add judges a call at a moment.
func (t *tried) add(ctx context.Context, page historyv1.TranscriptCalls, m historyv1.CallMoment) error {
	if m.Kind == historyv1.CallDecided {
		return nil
	}
	in, err := t.trial.Facts.input(ctx, page, m)
	if err != nil {
		return err
	}
	c := t.of(m)
	for _, p := range t.trial.Policies {
		c.matched = c.matched || p.Matches(in)
	}
	verdicts, err := policy.Judge(ctx, t.trial.Policies, in)
	if err != nil {
		return fmt.Errorf("judge the call %s of %s: %w", m.ToolCall, t.run.Name, err)
	}
	for _, v := range verdicts {
		if v.Action != agent.PolicyAllow {
			c.finding.add(in, v)
		}
	}
	return nil
}

// add adds a verdict, unless another moment of the call had it, too.
func (f *Finding) add(in policy.Input, v agent.Verdict) {
	known := slices.ContainsFunc(f.Verdicts, func(k agent.Verdict) bool {
		return k.Policy == v.Policy && k.Rule == v.Rule && k.Action == v.Action && k.Failed == v.Failed
	})
	if known {
		return
	}
	if severity(v.Action) > severity(f.Action) {
		f.Action, f.Labels, f.Role, f.Arguments = v.Action, in.Labels, in.Agent.Role, in.Call.Arguments
	}
	if v.Action == policy.Unknown {
		f.Unknown = in.Unknown
	}
	f.Verdicts = append(f.Verdicts, v)
}

// report adds the calls to a report.
func (t *tried) report(r *Report) {
	for _, c := range t.calls {
		r.Calls++
		if c.matched {
			r.Matched++
		}
		switch c.finding.Action {
		case agent.PolicyAllow:
			continue
		case agent.PolicyDeny:
			r.Denied++
		case agent.PolicyRequireApproval:
			r.Approvals++
		default:
			r.Unknown++
		}
		if slices.ContainsFunc(c.finding.Verdicts, func(v agent.Verdict) bool { return v.Failed }) {
			r.Failed++
		}
		for _, v := range c.finding.Verdicts {
			r.count(v)
		}
		if !json.Valid(c.finding.Arguments) { // the model wrote something else
			c.finding.Arguments, _ = json.Marshal(string(c.finding.Arguments))
		}
		r.Findings = append(r.Findings, c.finding)
	}
}

func (r *Report) count(v agent.Verdict) {
	i := slices.IndexFunc(r.Rules, func(c RuleCount) bool {
		return c.Policy == v.Policy && c.Rule == v.Rule && c.Action == v.Action && c.Failed == v.Failed
	})
	if i < 0 {
		i = len(r.Rules)
		r.Rules = append(r.Rules, RuleCount{Policy: v.Policy, Rule: v.Rule, Action: v.Action, Failed: v.Failed})
	}
	r.Rules[i].Calls++
}
