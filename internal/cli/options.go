// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/nestor-dev/nestor/internal/cli/terminal"
	"github.com/nestor-dev/nestor/internal/plainjson"
)

// print prints an object in the format that the flags select.
func (s *session) print(flags *printFlags, object runtime.Object) error {
	printer, err := flags.printer(s.scheme)
	if err != nil {
		return &exitStatus{exitUsage, err}
	}
	if flags.format != "json" {
		return printer.PrintObj(object, s.machineOutput())
	}
	var escaped bytes.Buffer
	if err := printer.PrintObj(object, &escaped); err != nil {
		return err
	}
	_, err = s.machineOutput().Write(plainjson.Unescape(escaped.Bytes()))
	return err
}

// machineOutput returns the writer for machine-readable output. On a terminal, control characters are removed, because JSON does
// not escape all of them.
func (s *session) machineOutput() io.Writer {
	if isTerminal(s.Out) {
		return cleanWriter{s.Out}
	}
	return s.Out
}

type cleanWriter struct{ out io.Writer }

func (c cleanWriter) Write(data []byte) (int, error) {
	if _, err := io.WriteString(c.out, terminal.Clean(string(data))); err != nil {
		return 0, err
	}
	return len(data), nil
}

// format is the -o flag of commands that print a report.
type format struct {
	value    string
	names    bool // name is one of the formats
	markdown bool
}

func (f *format) allowed() []string {
	allowed := []string{"json", "yaml"}
	if f.names {
		allowed = append(allowed, "name")
	}
	if f.markdown {
		allowed = append(allowed, "markdown")
	}
	return allowed
}

func (f *format) register(cmd *cobra.Command) {
	allowed := f.allowed()
	cmd.Flags().StringVarP(&f.value, "output", "o", "", "Output format: "+strings.Join(allowed, ", ")+" (default: text).")
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(allowed, cobra.ShellCompDirectiveNoFileComp))
}

func (f *format) check() error {
	if f.value == "" || slices.Contains(f.allowed(), f.value) {
		return nil
	}
	return usagef("unknown output format %q: use -o %s", f.value, strings.Join(f.allowed(), " or -o "))
}

// printReport writes value as JSON or YAML.
func (s *session) printReport(f format, value any) error {
	data, err := json.MarshalIndent(value, "", "    ")
	if err == nil && f.value == "yaml" {
		data, err = yaml.JSONToYAML(data)
	} else {
		data = append(plainjson.Unescape(data), '\n')
	}
	if err != nil {
		return fmt.Errorf("encode the output: %w", err)
	}
	_, err = s.machineOutput().Write(data)
	return err
}
