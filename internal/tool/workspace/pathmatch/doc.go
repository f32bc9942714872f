// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package pathmatch matches slash-separated paths against wildcard patterns, as
// git does for .gitignore files:
//
//	?        one byte except "/"
//	*        any run of bytes except "/"
//	[a-z]    one byte of a set; [!a-z] and [^a-z] negate, [[:alpha:]] names a class
//	\x       x itself
//	**       as a whole path component: any number of components
//
// A [Path] is compiled once and matched against many paths. Matching takes time
// proportional to the length of the pattern times that of the path, for every
// pattern: only the latest "*" and the latest "**" are ever retried.
//
// [Glob] adds what people expect of a file glob: {a,b} alternatives, and a
// pattern without "/" that matches a name at any depth.
package pathmatch
