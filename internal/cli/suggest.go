// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/nestor-dev/nestor/internal/similar"
)

// otherWords are the words that other programs use for a command.
var otherWords = map[string][]string{
	"chat":       {"talk", "attach", "open"},
	"new":        {"create"},
	"send":       {"answer", "reply", "ask", "say", "message"},
	"cancel":     {"stop", "kill", "delete", "rm"},
	"run":        {"start", "exec"},
	"list":       {"ps", "get"},
	"waiting":    {"inbox", "pending", "approvals", "questions"},
	"tree":       {"status", "show", "describe"},
	"transcript": {"history"},
	"workspace":  {"changes", "files", "export"},
	"ui":         {"web", "page", "dashboard"},
	"usage":      {"cost", "costs", "tokens"},
	"roles":      {"agents"},
	"doctor":     {"check", "health"},
	"allowances": {"allow", "revoke"},
	"trigger":    {"fire", "schedule"},
}

// similarCommands returns "; did you mean A?" with the commands that a wrong one may stand for, or "".
func similarCommands(parent *cobra.Command, wrong string) string {
	var names []string
	for _, command := range parent.Commands() {
		if !command.IsAvailableCommand() {
			continue
		}
		if !parent.HasParent() && slices.Contains(otherWords[command.Name()], strings.ToLower(wrong)) {
			return "; did you mean " + command.Name() + "?"
		}
		names = append(names, command.Name())
	}
	return similar.DidYouMean(wrong, names)
}

// suggestFlag returns a usage error for a wrong flag, with similar flags as suggestions.
func suggestFlag(cmd *cobra.Command, err error) error {
	name, unknown := strings.CutPrefix(err.Error(), "unknown flag: --")
	if !unknown {
		return &exitStatus{exitUsage, err}
	}
	var flags []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			flags = append(flags, "--"+f.Name)
		}
	})
	return &exitStatus{exitUsage, errors.New(err.Error() + similar.DidYouMean("--"+name, flags))}
}
