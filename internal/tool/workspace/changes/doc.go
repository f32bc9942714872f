// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package changes reads what was changed in a workspace, packs it into an archive, and restores it in a new one.
//
// A [Tree] is compared with the commit that was cloned, with the commit that is checked out, or with an empty directory. Git
// computes the differences in a repository of its own, in a directory that commands of agents cannot write. It reads the objects
// of the workspace's repository but never its configuration, hooks and index: commands may have written these, and they can name
// programs for git to run. Files are listed by this package, so that a nested repository is a directory like any other.
//
// An archive is a patch (see git-apply(1)) for a tree with a commit, and a tar for one without. It has at most [MaxArchive] bytes.
// [Tree.Restore] puts a tree back into the state of an archive, and may be repeated if it was interrupted.
package changes
