// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package changes reads the changes in a workspace, packs them into an archive, and restores them in a new workspace.
//
// A [Tree] is compared with the cloned commit, the checked-out commit, or an empty directory. Git computes the
// differences in a repository of its own, in a directory that the agents' commands cannot write. It reads the objects
// of the workspace's repository but never its configuration, hooks and index: commands may have written these, and they
// can name programs for git to run. Files are listed by this package, so that a nested repository is a directory like
// any other.
//
// An archive is a patch (see git-apply(1)) for a tree with a commit, and a tar for one without. It has at most
// [MaxArchive] bytes. [Tree.Restore] puts a tree back into the state of an archive, and may be repeated if it was
// interrupted.
package changes
