// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package gitpush publishes the changes of a workspace: it makes one commit of a patch and pushes it to one branch.
//
// A [Publisher] has the repository's credentials, so it never opens a repository that the agents' commands could write.
// It works in a bare repository of its own, without files, hooks and attributes: the patch is applied to an index only.
//
// Pushes are never forced. The new commit follows the cloned commit, or the same owner's last published one, so each
// push is a fast-forward; a branch with other commits is left alone. The last lines of a commit message name the owner,
// the call and the tree, by which a repeated call finds its commit on the branch and makes no second one.
package gitpush
