// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package gitignore decides which files of a tree git would ignore.
//
// Rules come from .gitignore files, one [Rules] value per file. A directory's [Stack] has its own rules on top of
// those of the directories above it; the last matching line of the nearest file decides. For a walk that does not
// enter ignored directories this is git's full behaviour, because nothing below an ignored directory can be included
// again.
package gitignore
