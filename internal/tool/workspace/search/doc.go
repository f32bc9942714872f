// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package search finds files and text in a directory tree: by name ([Glob]), by regular expression ([Grep]) and by
// keywords ([Keywords]).
//
// All three walk the tree in parallel through open directories (see fsroot.Dir), skip files that .gitignore excludes,
// and return results sorted by path, so that equal trees give equal results.
//
// Grep is fast because directories are opened relative to their open parent; files are read whole into a reused
// buffer; a file with a NUL byte in its first block is skipped as binary; text that every match must contain is
// searched first, with vector instructions; and the rest is decided line by line with a lazily built automaton
// ([automaton]) instead of package regexp.
package search
