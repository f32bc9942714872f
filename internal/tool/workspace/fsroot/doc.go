// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package fsroot keeps file access inside one directory tree.
//
// Every path that a model names goes through [Resolve], which refuses what a
// workspace path never needs (absolute paths, "..", NUL bytes), and then
// through a [Root], which refuses what only the file system can detect:
//
//   - Reads follow symbolic links, but only those that stay inside the root
//     (os.Root). The opened file must be a regular file; it is opened without
//     blocking, so a named pipe cannot hang the caller.
//   - Writes follow no symbolic link at all: each directory is opened relative
//     to its parent with O_NOFOLLOW. The content goes to a temporary file that
//     is renamed into place, so a reader never gets half a file, and a hard link
//     to a file elsewhere is replaced rather than written through.
//   - Walks use [Dir], a handle on an open directory. Entries are opened by
//     name relative to that handle and links are not followed, so swapping a
//     directory for a link during the walk leads nowhere.
//
// No check relies on the state of a path before the open: each is part of the
// open, or is made on what was opened. A race can make a call fail; it cannot make it
// leave the root.
package fsroot
