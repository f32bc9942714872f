// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/client-go/discovery"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/cli/terminal"
	"github.com/nestor-dev/nestor/internal/diagnose"
	"github.com/nestor-dev/nestor/internal/health"
)

type doctorOptions struct {
	provider          string
	operatorNamespace string
	probe             bool
	output            format
}

func operatorNamespaceFlag(cmd *cobra.Command, value *string) {
	cmd.Flags().StringVar(value, "operator-namespace", "", "The namespace that the operator runs in; by default the one with its heartbeat, or nestor-system.")
}

// operatorNamespace returns the namespace of the operator: the value of the flag, or the one in which its heartbeat is found.
func (s *session) operatorNamespace(ctx context.Context, flag string) string {
	if flag != "" {
		return flag
	}
	operator, err := health.FindOperator(ctx, s.api)
	if err != nil {
		return health.DefaultOperatorNamespace // what the command does next reports that the API server does not answer
	}
	return operator
}

func newDoctor(f *Factory) *cobra.Command {
	o := doctorOptions{}
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check the prerequisites of a chat, and suggest fixes",
		Long: dedent(`
			Check the prerequisites of a chat, and suggest fixes: the cluster, Nestor's resources, the operator and the shards of its
			replicas, the model provider and its key, the history API, your permissions, the conditions of all objects of the
			namespace, and runs that are stuck.

			It only reads, unless --probe is set: then it also runs a task with the calculator.

			Exit codes: 0 all checks passed; 3 a check failed; 1 the checks could not be run.
		`),
		Example: dedent(`
			# Why does my chat not answer?
			kubectl nestor doctor

			# In another namespace, with a test task
			kubectl nestor doctor -n team-a --probe
		`),
		Args: argCount(0, 0, "no arguments"),
		RunE: f.runE(func(ctx context.Context, s *session, _ []string) error { return o.run(ctx, s) }),
	}
	cmd.Flags().StringVar(&o.provider, "provider", "default", "The ModelProvider that chats use.")
	cmd.Flags().BoolVar(&o.probe, "probe", false, "Run a task with the calculator, which costs nothing, and delete the task.")
	operatorNamespaceFlag(cmd, &o.operatorNamespace)
	o.output.register(cmd)
	_ = cmd.RegisterFlagCompletionFunc("provider", f.flag(names(&v1beta1.ModelProviderList{})))
	return cmd
}

func (o *doctorOptions) run(ctx context.Context, s *session) error {
	if err := o.output.check(); err != nil {
		return err
	}
	client, err := discovery.NewDiscoveryClientForConfig(s.config)
	if err != nil {
		return fmt.Errorf("connect to the cluster: %w", err)
	}
	findings := diagnose.Target{
		API: s.api, Discovery: client, Host: s.config.Host, Namespace: s.namespace, OperatorNamespace: s.operatorNamespace(ctx, o.operatorNamespace),
		Provider: o.provider, Probe: o.probe,
	}.Examine(ctx)
	if o.output.value != "" {
		if err := s.printReport(o.output, map[string]any{"items": findings}); err != nil {
			return err
		}
	} else {
		s.printFindings(findings)
	}
	if !diagnose.Healthy(findings) {
		return exitf(exitFailed, "something that chats need is missing")
	}
	return nil
}

var signs = map[diagnose.Status]string{
	diagnose.OK: terminal.Good.Render("✓"), diagnose.Warning: terminal.Warning.Render("!"),
	diagnose.Failed: terminal.Bad.Render("✗"), diagnose.Unknown: terminal.Faint.Render("?"),
}

func (s *session) printFindings(findings []diagnose.Finding) {
	out := s.humanOutput()
	for _, f := range findings {
		fmt.Fprintf(out, "%s %s %s\n", signs[f.Status], terminal.Pad(f.Check, 10), terminal.Line(f.Message))
		if f.Advice != "" {
			fmt.Fprintf(out, "             %s\n", terminal.Line(f.Advice))
		}
	}
}
