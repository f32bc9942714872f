// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package gitpush publishes the changes of a workspace: it makes one commit of a patch and pushes it to one branch.
//
// A [Publisher] has the credentials of the repository, so it never opens a repository that commands of agents could write. It works in a bare
// repository of its own, without files, hooks and attributes: the patch is applied to an index only.
//
// Nothing is ever forced. The new commit follows the commit that was cloned, or the one that the same owner published last, so that each push
// is a fast-forward; a branch with commits of anyone else is left alone. The last lines of a message name the owner, the call and the tree. A
// repeated call finds its commit on the branch and makes no other one, whatever happened to the first attempt.
package gitpush
