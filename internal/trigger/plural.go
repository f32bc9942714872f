// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package trigger

import "strings"

// Plural returns the name of the resource that a kind usually has. The policy of triggers checks the permissions of their authors with the same
// rule, because an admission policy cannot ask the API server for the name: a kind with another one cannot be watched.
func Plural(kind string) string {
	name := strings.ToLower(kind)
	for _, ending := range []string{"s", "x", "ch", "sh"} {
		if strings.HasSuffix(name, ending) {
			return name + "es"
		}
	}
	if before, found := strings.CutSuffix(name, "y"); found && before != "" && !strings.ContainsRune("aeiou", rune(before[len(before)-1])) {
		return before + "ies"
	}
	return name + "s"
}
