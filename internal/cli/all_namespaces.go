// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import "github.com/spf13/cobra"

// allNamespaces is the -A flag of commands that list objects.
type allNamespaces struct{ set bool }

func (a *allNamespaces) register(cmd *cobra.Command) {
	cmd.Flags().BoolVarP(&a.set, "all-namespaces", "A", false, "Show all namespaces. You need permission to list objects in the whole cluster.")
}

// namespace returns the namespace to list, or "" for all.
func (a *allNamespaces) namespace(s *session) string {
	if a.set {
		return ""
	}
	return s.namespace
}

// place names what is listed, in messages.
func (a *allNamespaces) place(s *session) string {
	if a.set {
		return "any namespace"
	}
	return "namespace " + s.namespace
}
