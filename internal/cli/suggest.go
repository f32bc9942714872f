// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// maxSuggestions is how many similar names are suggested.
const maxSuggestions = 3

// didYouMean returns "; did you mean A or B?" with the candidates that are similar to a name, the most similar first, or "".
func didYouMean(name string, candidates []string) string {
	type similar struct {
		name     string
		distance int
	}
	var matches []similar
	for _, candidate := range candidates {
		distance := editDistance(strings.ToLower(name), strings.ToLower(candidate))
		begins := len(name) >= 3 && strings.HasPrefix(candidate, name)
		if distance < len(name) && distance <= max(1, len(name)/3) || begins {
			matches = append(matches, similar{candidate, distance})
		}
	}
	if len(matches) == 0 {
		return ""
	}
	slices.SortFunc(matches, func(a, b similar) int {
		return cmp.Or(cmp.Compare(a.distance, b.distance), cmp.Compare(a.name, b.name))
	})
	var names []string
	for _, s := range matches[:min(len(matches), maxSuggestions)] {
		names = append(names, s.name)
	}
	return "; did you mean " + strings.Join(slices.Compact(names), " or ") + "?"
}

// editDistance returns how many insertions, deletions, substitutions and swaps of neighbours turn a into b.
func editDistance(a, b string) int {
	var before []int // the row before the last one
	last := make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range len(a) {
		row := make([]int, len(b)+1)
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(last[j+1]+1, row[j]+1, last[j]+cost)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}

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
	"workspace":  {"diff", "changes", "files", "export"},
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
	return didYouMean(wrong, names)
}

// warnUnknownRole prints a warning if there seems to be a typing mistake in the name of a role: the work would wait for the role.
func (s *session) warnUnknownRole(ctx context.Context, name string) {
	var roles []string
	for _, completion := range roleNames(ctx, s) {
		roles = append(roles, strings.Split(completion, "\t")[0])
	}
	if slices.Contains(roles, name) {
		return
	}
	if similar := didYouMean(name, roles); similar != "" {
		s.noticef("warning: there is no role %q in namespace %s%s The work waits until the role exists.", name, s.namespace, similar)
	}
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
	return &exitStatus{exitUsage, errors.New(err.Error() + didYouMean("--"+name, flags))}
}
