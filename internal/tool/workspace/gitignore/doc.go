// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package gitignore decides which files of a tree git would ignore.
//
// Rules come from .gitignore files, one [Rules] value a file. A directory's
// [Stack] is its own rules on top of those of the directories above it; the last
// matching line of the nearest file decides. A walk that does not enter ignored
// directories has git's whole behaviour: nothing below an ignored directory can
// be included again.
package gitignore
