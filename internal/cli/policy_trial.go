// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/cli/terminal"
	"github.com/nestor-dev/nestor/internal/client/policies"
	"github.com/nestor-dev/nestor/internal/policy"
)

type policyTestOptions struct {
	file              string
	since             days
	exitCode          bool
	operatorNamespace string
	output            format
}

func newPolicyTest(f *Factory) *cobra.Command {
	o := policyTestOptions{since: days(7 * 24 * time.Hour)}
	cmd := &cobra.Command{
		Use:   "test -f FILE",
		Short: "Show what a policy would have done with the recorded calls of the namespace",
		Long: dedent(`
			Evaluate ToolPolicies, which need not exist, on the recorded calls of the namespace, with the same code as the operator,
			and list the calls that they would have denied or sent to a person, and the expressions that fail. A call is judged as
			it was planned and again as it started, with its arguments and the content labels that its agent had.

			The record does not contain everything that expressions may read. Roles, readOnlyTools of ToolServers and workspaces are
			those of the objects as they are now. The usage of the tree, agent.requesters, and what belongs to objects that were
			deleted are unknown: a call whose verdict depends on them is reported as unknown. spec.namespaces is ignored.

			Exit codes: 0 success; 1 the command itself failed; 2 wrong usage, or a policy that does not compile; with --exit-code,
			3 if a call would not have been allowed, or is unknown.
		`),
		Example: dedent(`
			# The calls of the last seven days
			kubectl nestor policy test -f policy.yaml

			# In a pipeline: fail if the policy would have stopped a call of the last day
			kubectl nestor policy test -f policy.yaml --since 1d --exit-code

			# All verdicts, with the arguments of the calls
			kubectl nestor policy test -f policy.yaml -o json
		`),
		Args:              argCount(0, 0, "no arguments, and the policy in a file with -f"),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              f.runE(o.run),
	}
	cmd.Flags().StringVarP(&o.file, "filename", "f", "", "The file with the ToolPolicies; - is standard input.")
	cmd.Flags().Var(&o.since, "since", "Only calls within this time, for example 24h or 7d.")
	cmd.Flags().BoolVar(&o.exitCode, "exit-code", false, "Exit with 3 if a call would not have been allowed, or is unknown.")
	operatorNamespaceFlag(cmd, &o.operatorNamespace)
	o.output.register(cmd)
	return cmd
}

// days is a duration that may be given in days, such as 7d.
type days time.Duration

func (d *days) Set(text string) error {
	var value time.Duration
	var err error
	if whole, ok := strings.CutSuffix(text, "d"); ok {
		var n int
		n, err = strconv.Atoi(whole)
		value = time.Duration(n) * 24 * time.Hour
	} else {
		value, err = time.ParseDuration(text)
	}
	if err != nil || value <= 0 || value > 100*365*24*time.Hour {
		return errors.New("write a duration such as 24h or 7d")
	}
	*d = days(value)
	return nil
}

func (d *days) String() string {
	if value := time.Duration(*d); value%(24*time.Hour) != 0 {
		return value.String()
	}
	return fmt.Sprintf("%dd", time.Duration(*d)/(24*time.Hour))
}

func (*days) Type() string { return "duration" }

func (o *policyTestOptions) run(ctx context.Context, s *session, _ []string) error {
	if err := o.output.check(); err != nil {
		return err
	}
	compiled, err := o.compile(s)
	if err != nil {
		return err
	}
	facts, err := policies.NewFacts(ctx, s.api, s.namespace, s.operatorNamespace(ctx, o.operatorNamespace))
	if err != nil {
		return err
	}
	began := s.now()
	reported := began
	report, err := policies.Trial{
		Policies: compiled, Reader: s.history(), Facts: facts, From: began.Add(-time.Duration(o.since)),
		Progress: func(r policies.Report) {
			if now := s.now(); now.Sub(reported) >= progressInterval {
				reported = now
				s.noticef("%d runs with %d calls read", r.Runs, r.Calls)
			}
		},
	}.Run(ctx)
	if err != nil {
		return err
	}
	if o.output.value != "" {
		err = s.printReport(o.output, report)
	} else {
		s.printTrial(report, &o.since)
	}
	if stopped := len(report.Findings); err == nil && o.exitCode && stopped > 0 {
		return exitf(exitFailed, "%d recorded calls would not have been allowed, or are unknown", stopped)
	}
	return err
}

// progressInterval is how often a long trial reports how far it is.
const progressInterval = 5 * time.Second

// compile reads the file and compiles its policies as if they were in the namespace.
func (o *policyTestOptions) compile(s *session) ([]*policy.Policy, error) {
	if o.file == "" {
		return nil, usagef("expected a file with -f")
	}
	var data []byte
	var err error
	if o.file == "-" {
		data, err = io.ReadAll(s.In)
	} else {
		data, err = os.ReadFile(o.file)
	}
	if err != nil {
		return nil, err
	}
	var compiled []*policy.Policy
	for documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data))); ; {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", o.file, err)
		}
		object, err := readPolicy(document)
		if err != nil {
			return nil, usagef("%s is no ToolPolicy: %w", o.file, err)
		}
		if object == nil {
			continue
		}
		// The core distinguishes policies by their UIDs.
		object.Namespace, object.UID = s.namespace, types.UID(strconv.Itoa(len(compiled)))
		p, err := policy.Compile(object)
		if err != nil {
			return nil, usagef("the ToolPolicy %s does not compile: %w", object.Name, err)
		}
		compiled = append(compiled, p)
	}
	if len(compiled) == 0 {
		return nil, usagef("%s contains no ToolPolicy", o.file)
	}
	return compiled, nil
}

// readPolicy reads a YAML document; nil if it has only comments.
func readPolicy(document []byte) (*v1beta1.ToolPolicy, error) {
	var header metav1.TypeMeta
	if err := yaml.Unmarshal(document, &header); err != nil {
		return nil, err
	}
	if data, err := yaml.YAMLToJSON(document); err != nil || string(data) == "null" {
		return nil, err
	}
	if header.Kind != "ToolPolicy" || header.APIVersion != v1beta1.GroupVersion.String() {
		return nil, fmt.Errorf("it has the kind %q of %q", header.Kind, header.APIVersion)
	}
	object := &v1beta1.ToolPolicy{}
	if err := yaml.UnmarshalStrict(document, object); err != nil {
		return nil, err
	}
	if len(object.Spec.Rules) == 0 {
		return nil, errors.New("spec.rules is empty")
	}
	return object, nil
}

func (s *session) printTrial(r policies.Report, since *days) {
	out := s.humanOutput()
	fmt.Fprintf(out, "runs of the last %s: %d, calls: %d, matched: %d\n", since, r.Runs, r.Calls, r.Matched)
	const verdicts = "denied: %d (an expression fails: %d), sent to a person: %d, unknown: %d\n"
	fmt.Fprintf(out, verdicts, r.Denied, r.Failed, r.Approvals, r.Unknown)
	if len(r.Findings) == 0 {
		return
	}
	rules := terminal.Table{Heading: []string{"POLICY", "RULE", "VERDICT", "CALLS"}}
	for _, c := range r.Rules {
		verdict := verdictText(c.Action, c.Failed)
		rules.Rows = append(rules.Rows, []string{c.Policy, cmp.Or(c.Rule, "-"), verdict, strconv.Itoa(c.Calls)})
	}
	fmt.Fprintln(out)
	rules.Print(out)
	calls := terminal.Table{Heading: []string{"TIME", "RUN", "CALL", "TOOL", "VERDICT", "LABELS", "WHY"}}
	for _, f := range r.Findings {
		calls.Rows = append(calls.Rows, []string{
			f.Time.UTC().Format(time.RFC3339), f.Transcript, terminal.Line(f.ToolCall), terminal.Line(f.Tool),
			verdictText(f.Action, slices.ContainsFunc(f.Verdicts, func(v agent.Verdict) bool { return v.Failed })),
			terminal.Line(cmp.Or(strings.Join(f.Labels, ","), "-")), terminal.Line(why(f)),
		})
	}
	fmt.Fprintln(out)
	calls.FitLast(s.width(), "LABELS", "CALL").Print(out)
}

func verdictText(action agent.PolicyAction, failed bool) string {
	switch {
	case failed:
		return terminal.Bad.Render("fails")
	case action == agent.PolicyDeny:
		return terminal.Bad.Render("denied")
	case action == agent.PolicyRequireApproval:
		return terminal.Warning.Render("person")
	}
	return terminal.Faint.Render("unknown")
}

// why names the rules that decide a finding.
func why(f policies.Finding) string {
	var texts []string
	for _, v := range f.Verdicts {
		if v.Action != f.Action {
			continue
		}
		text := cmp.Or(v.Rule, v.Policy)
		if v.Action == policy.Unknown {
			text += ": it depends on what is not known: " + strings.Join(f.Unknown, ", ")
		} else if v.Message != "" {
			text += ": " + v.Message
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, "; ")
}
