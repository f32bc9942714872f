// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package version has the version of a build.
package version

import "runtime/debug"

// version is set by the linker (see the Makefile).
var version string

// String returns the version that was linked in, else that of the module, else "dev".
func String() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "dev"
}
