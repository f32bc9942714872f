// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	historyv1 "github.com/nestor-dev/nestor/api/history/v1beta1"
	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/cli/terminal"
	"github.com/nestor-dev/nestor/internal/client/history"
)

type policyExplainOptions struct{ output format }

func newPolicyExplain(f *Factory) *cobra.Command {
	o := policyExplainOptions{}
	cmd := &cobra.Command{
		Use:   "explain NAME [CALL]",
		Short: "Show what policies said about the calls of a run",
		Long: dedent(`
			Show the recorded verdicts of policies on the calls of a run: the policy with its generation, the rule, its message, the
			content labels of the agent with their origin, and who decided. A call is judged when it is planned, and again when it
			starts.

			NAME is a chat, for its orchestrator, or a task, for its sub-agent or tool run; transcripts of deleted objects are named
			as for kubectl nestor transcript. CALL is the id of a call; without it, all calls that policies matched are shown.
		`),
		Example: dedent(`
			# The calls of a sub-agent
			kubectl nestor policy explain first-1

			# One call
			kubectl nestor policy explain first-1 call_4
		`),
		Args:              argCount(1, 2, "the name of one chat or task, and at most one call"),
		ValidArgsFunction: f.firstArg(chats, tasks(anyTask)),
		RunE:              f.runE(o.run),
	}
	o.output.register(cmd)
	return cmd
}

func (o *policyExplainOptions) run(ctx context.Context, s *session, args []string) error {
	if err := o.output.check(); err != nil {
		return err
	}
	name, _, err := s.transcriptOf(ctx, args[0])
	if err != nil {
		return err
	}
	call := ""
	if len(args) == 2 {
		call = args[1]
	}
	moments, err := s.callMoments(ctx, name, call)
	switch {
	case apierrors.IsNotFound(err) && !errors.Is(err, history.ErrNotServed):
		return s.noTranscript(name)
	case err != nil:
		return err
	case call != "" && len(moments) == 0:
		const hint = "the agent has made no call %q: `kubectl nestor transcript %s -o json` has the ids of its calls"
		return fmt.Errorf(hint, call, args[0])
	}
	if call == "" {
		moments = matchedCalls(moments)
	}
	if o.output.value != "" {
		return s.printReport(o.output, map[string]any{"items": moments})
	}
	if len(moments) == 0 {
		s.noticef("No policy has matched a call of %s.", name)
		return nil
	}
	printMoments(s.humanOutput(), moments)
	return nil
}

// callMoments reads what happened to the calls of a transcript, or to one of them.
func (s *session) callMoments(ctx context.Context, transcript, call string) ([]historyv1.CallMoment, error) {
	moments := []historyv1.CallMoment{}
	err := s.history().Calls(ctx, transcript, time.Time{}, func(page historyv1.TranscriptCalls) error {
		for _, m := range page.Moments {
			if call == "" || m.ToolCall == call {
				moments = append(moments, m)
			}
		}
		return nil
	})
	return moments, err
}

// matchedCalls returns what happened to calls that policies matched.
func matchedCalls(moments []historyv1.CallMoment) []historyv1.CallMoment {
	matched := map[string]bool{}
	for _, m := range moments {
		matched[m.ToolCall] = matched[m.ToolCall] || len(m.Verdicts) > 0
	}
	of := []historyv1.CallMoment{}
	for _, m := range moments {
		if matched[m.ToolCall] {
			of = append(of, m)
		}
	}
	return of
}

func printMoments(out io.Writer, moments []historyv1.CallMoment) {
	last := ""
	for _, m := range moments {
		if m.ToolCall != last {
			fmt.Fprintln(out, terminal.Bold.Render(terminal.Line(m.ToolCall+" "+m.Tool)), terminal.Line(m.Arguments))
			last = m.ToolCall
		}
		fmt.Fprintf(out, "  %s %s\n", m.Time.UTC().Format(time.RFC3339), terminal.Line(describeMoment(m)))
		for _, v := range m.Verdicts {
			fmt.Fprintf(out, "    %s %s\n", renderAction(v), terminal.Line(describeVerdict(v)))
		}
	}
}

var momentTexts = map[historyv1.CallMomentKind]string{historyv1.CallPlanned: "planned", historyv1.CallStarts: "starts"}

func describeMoment(m historyv1.CallMoment) string {
	if m.Kind == historyv1.CallDecided {
		by := cmp.Or(m.User, "an unknown person")
		if m.Allowance != "" {
			by = "the allowance " + m.Allowance + " of " + by
		}
		text := map[string]string{"Approve": "approved by ", "Deny": "denied by "}[m.Decision] + by
		if m.Comment != "" {
			text += ": " + m.Comment
		}
		return text
	}
	text := momentTexts[m.Kind]
	if m.TargetRole != "" {
		text += ", starts " + m.TargetRole
	}
	var labels []string
	for _, l := range m.ContentLabels {
		labels = append(labels, agent.Label{Name: l.Name, Source: l.Source, Call: l.ToolCall}.String())
	}
	if len(labels) > 0 {
		text += ", the agent's context is " + strings.Join(labels, ", ")
	}
	if !m.Judged {
		return text + "; no policy applied"
	}
	if len(m.Verdicts) == 0 {
		return text + "; no policy matched"
	}
	return text
}

func renderAction(v historyv1.PolicyVerdict) string {
	style := terminal.Good
	switch agent.PolicyAction(v.Action) {
	case agent.PolicyDeny:
		style = terminal.Bad
	case agent.PolicyRequireApproval:
		style = terminal.Warning
	}
	if v.Audit {
		return style.Render(v.Action) + " (audit, no effect)"
	}
	return style.Render(v.Action)
}

func describeVerdict(v historyv1.PolicyVerdict) string {
	text := fmt.Sprintf("%s generation %d", v.Policy, v.Generation)
	if v.Rule != "" {
		text += ", rule " + v.Rule
	}
	if v.Message != "" {
		text += ": " + v.Message
	}
	return text
}
