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
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1alpha1"
)

// maxSuggestions is how many similar names are suggested.
const maxSuggestions = 3

// didYouMean returns "; did you mean A or B?" with the candidates that are similar to a name, the most similar first, or "".
func didYouMean(name string, candidates []string) string {
	type similar struct {
		name     string
		distance int
	}
	var found []similar
	for _, candidate := range candidates {
		distance := editDistance(strings.ToLower(name), strings.ToLower(candidate))
		begins := len(name) >= 3 && strings.HasPrefix(candidate, name)
		if distance < len(name) && distance <= max(1, len(name)/3) || begins {
			found = append(found, similar{candidate, distance})
		}
	}
	if len(found) == 0 {
		return ""
	}
	slices.SortFunc(found, func(a, b similar) int {
		return cmp.Or(cmp.Compare(a.distance, b.distance), cmp.Compare(a.name, b.name))
	})
	var names []string
	for _, s := range found[:min(len(found), maxSuggestions)] {
		names = append(names, s.name)
	}
	return "; did you mean " + strings.Join(slices.Compact(names), " or ") + "?"
}

// editDistance returns how many insertions, deletions and substitutions turn a into b.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			next := min(row[j+1]+1, row[j]+1, diagonal+cost)
			diagonal, row[j+1] = row[j+1], next
		}
	}
	return row[len(b)]
}

// chatNames returns the names of the chats of the namespace, or none if they cannot be listed.
func (s *session) chatNames(ctx context.Context) []string {
	var list v1alpha1.AgentChatList
	_ = s.api.List(ctx, &list, client.InNamespace(s.namespace)) // without the names there is no suggestion
	var names []string
	for _, chat := range list.Items {
		names = append(names, chat.Name)
	}
	return names
}

// taskNames returns the names of the tasks of the namespace, or none if they cannot be listed.
func (s *session) taskNames(ctx context.Context) []string {
	var list v1alpha1.AgentTaskList
	_ = s.api.List(ctx, &list, client.InNamespace(s.namespace))
	var names []string
	for _, task := range list.Items {
		names = append(names, task.Name)
	}
	return names
}

// warnUnknownRole prints a warning if there seems to be a typing mistake in the name of a role: the work would wait for the role.
func (s *session) warnUnknownRole(ctx context.Context, name string) {
	var known []string
	for _, completion := range roleNames(ctx, s) {
		known = append(known, strings.Split(completion, "\t")[0])
	}
	if slices.Contains(known, name) {
		return
	}
	if similar := didYouMean(name, known); similar != "" {
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
