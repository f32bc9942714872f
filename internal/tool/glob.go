// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package tool

import (
	"path"
	"strings"
)

// serverSeparator stands between the name of a ToolServer and the name of its tool.
const serverSeparator = "__"

// ServerOf returns the ToolServer in an entry of a role's policy: the part before "__". It reports false for a tool
// without a server, and for a glob, which selects from all servers.
func ServerOf(glob string) (server string, ok bool) {
	server, _, ok = strings.Cut(glob, serverSeparator)
	return server, ok && !isGlob(server)
}

// SelectsServers reports whether the server part of an entry is a glob.
func SelectsServers(glob string) bool {
	prefix, _, _ := strings.Cut(glob, serverSeparator)
	return isGlob(prefix)
}

func isGlob(text string) bool { return strings.ContainsAny(text, "*?[\\") }

// MayMatchToolsOf reports whether a glob can match a server's tools. Which of them it matches depends on their full
// names.
func MayMatchToolsOf(glob, server string) bool {
	prefix, _, ok := strings.Cut(glob, serverSeparator)
	if !ok {
		return isGlob(glob)
	}
	matched, err := path.Match(prefix, server)
	return err == nil && matched
}
