// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package search finds files and text in a directory tree: by name ([Glob]), by
// regular expression ([Grep]) and by keywords ([Keywords]).
//
// All three walk the tree in parallel through handles of open directories (see
// fsroot.Dir), leave out what .gitignore files leave out, and return results in
// the order of their paths, so that equal trees give equal answers.
//
// How a grep goes fast: a directory is opened relative to its open parent; a
// file is read whole into a buffer that the worker reuses; a file with a NUL
// byte in its first block is binary and is dropped; text that every match must
// contain is looked for first, with the processor's vector instructions; and
// what remains is decided line by line by a lazily built automaton ([automaton])
// instead of the general matcher of package regexp.
package search
