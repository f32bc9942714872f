// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package trigger

import "strings"

// Plural returns the usual resource name of a kind. The admission policy of triggers, which cannot look up the real
// name, checks the author's permissions with the same rule, so a kind with an irregular name cannot be watched.
func Plural(kind string) string {
	name := strings.ToLower(kind)
	for _, ending := range []string{"s", "x", "ch", "sh"} {
		if strings.HasSuffix(name, ending) {
			return name + "es"
		}
	}
	if before, ok := strings.CutSuffix(name, "y"); ok && before != "" && !strings.ContainsRune("aeiou", rune(before[len(before)-1])) {
		return before + "ies"
	}
	return name + "s"
}
