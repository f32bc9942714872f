// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"sigs.k8s.io/yaml"

	"github.com/nestor-dev/nestor/internal/cli/terminal"
)

// printed returns the -o flag of commands that create an object; without it they say "KIND/NAME done".
func printed(done string) *genericclioptions.PrintFlags { return genericclioptions.NewPrintFlags(done) }

// addPrinted adds the -o flag, with those of its companions that few people need out of sight.
func addPrinted(cmd *cobra.Command, flags *genericclioptions.PrintFlags) {
	flags.AddFlags(cmd)
	for _, name := range []string{"allow-missing-template-keys", "show-managed-fields", "template"} {
		_ = cmd.Flags().MarkHidden(name)
	}
	cmd.Flags().Lookup("output").Usage = "Output format: json, yaml, name, or one of kubectl's templates such as jsonpath='{.metadata.name}'."
}

// print prints an object the way that flags say.
func (s *session) print(flags *genericclioptions.PrintFlags, object runtime.Object) error {
	printer, err := flags.WithTypeSetter(s.scheme).ToPrinter()
	if err != nil {
		return &exitStatus{exitUsage, err}
	}
	return printer.PrintObj(object, s.machine())
}

// machine is where output for programs goes. A terminal gets it without control characters, which JSON need not escape.
func (s *session) machine() io.Writer {
	if isTerminal(s.Out) {
		return cleaner{s.Out}
	}
	return s.Out
}

type cleaner struct{ out io.Writer }

func (c cleaner) Write(data []byte) (int, error) {
	if _, err := io.WriteString(c.out, terminal.Clean(string(data))); err != nil {
		return 0, err
	}
	return len(data), nil
}

// format is the -o flag of commands that show a report of their own.
type format struct {
	value string
	names bool // name is one of the formats
}

func (f *format) register(cmd *cobra.Command) {
	allowed := []string{"json", "yaml"}
	if f.names {
		allowed = append(allowed, "name")
	}
	cmd.Flags().StringVarP(&f.value, "output", "o", "", "Output format: "+strings.Join(allowed, ", ")+"; for people if it is left out.")
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(allowed, cobra.ShellCompDirectiveNoFileComp))
}

func (f *format) check() error {
	switch f.value {
	case "", "json", "yaml":
		return nil
	case "name":
		if f.names {
			return nil
		}
	}
	return usagef("there is no output format %q here: use -o json or -o yaml", f.value)
}

// report writes value as JSON or YAML.
func (s *session) report(f format, value any) error {
	data, err := json.MarshalIndent(value, "", "    ")
	if err == nil && f.value == "yaml" {
		data, err = yaml.JSONToYAML(data)
	} else {
		data = append(data, '\n')
	}
	if err != nil {
		return fmt.Errorf("encode the output: %w", err)
	}
	_, err = s.machine().Write(data)
	return err
}
