// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

// dryRun is kubectl's --dry-run flag.
type dryRun struct{ value string }

func (d *dryRun) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&d.value, "dry-run", "none", `"client" only prints the object, "server" sends it to the server, which validates but does not store it.`)
	_ = cmd.RegisterFlagCompletionFunc("dry-run", cobra.FixedCompletions([]string{"none", "client", "server"}, cobra.ShellCompDirectiveNoFileComp))
}

func (d *dryRun) check() error {
	switch d.value {
	case "none", "client", "server":
		return nil
	}
	return usagef("--dry-run must be none, client or server, not %q", d.value)
}

// disabled reports whether objects are created, rather than only printed or validated.
func (d *dryRun) disabled() bool { return d.value == "none" }

// create creates an object, or does a dry run.
func (s *session) create(ctx context.Context, object client.Object, d dryRun) error {
	switch d.value {
	case "client":
		return nil
	case "server":
		return s.api.Create(ctx, object, client.DryRunAll)
	}
	return s.api.Create(ctx, object)
}

// workspaceOptions are the flags that give agents files to work on.
type workspaceOptions struct {
	git, ref, gitSecret, claim, directory string
	empty                                 bool
}

func (o *workspaceOptions) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&o.git, "git", "", "Work on this git repository.")
	flags.StringVar(&o.ref, "git-ref", "", "With --git: the branch, tag or commit (default: the repository's default branch).")
	flags.StringVar(&o.gitSecret, "git-secret", "", "With --git: a Secret with username and password, or ssh-privatekey and known_hosts; its annotation nestor.dev/git-hosts names the server.")
	flags.StringVar(&o.claim, "claim", "", "Work on the files of this PersistentVolumeClaim, which must have the label nestor.dev/workspace=true.")
	flags.BoolVar(&o.empty, "empty-dir", false, "Work in a directory that starts empty.")
	flags.StringVar(&o.directory, "directory", "", "Work in this directory of the operator's machine; for an operator in local mode only.")
	cmd.MarkFlagsMutuallyExclusive("git", "claim", "empty-dir", "directory")
}

func (o *workspaceOptions) workspace() (*v1beta1.Workspace, error) {
	if o.git == "" && (o.ref != "" || o.gitSecret != "") {
		return nil, usagef("--git-ref and --git-secret require --git")
	}
	switch {
	case o.git != "":
		return &v1beta1.Workspace{Git: &v1beta1.GitSource{URL: o.git, Ref: o.ref, SecretName: o.gitSecret}}, nil
	case o.claim != "":
		return &v1beta1.Workspace{PersistentVolumeClaim: &v1beta1.ClaimSource{ClaimName: o.claim}}, nil
	case o.empty:
		return &v1beta1.Workspace{EmptyDir: &v1beta1.EmptyDirSource{}}, nil
	case o.directory != "":
		return &v1beta1.Workspace{Directory: &v1beta1.DirectorySource{Path: o.directory}}, nil
	}
	return nil, nil
}
