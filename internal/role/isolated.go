// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package role

import (
	"fmt"
	"slices"
	"strings"
)

// IsolationProblem returns why agents with an isolated role would not be isolated, or "". The rules of the API say the same, and may be
// newer than the object.
func IsolationProblem(r Role) string {
	if !r.Isolated {
		return ""
	}
	var extra []string
	for name, set := range map[string]bool{
		"tools": r.Tools != nil, "approval": r.Approval != nil, "delegation": r.Delegation != nil, "skills": len(r.Skills) > 0,
		"review": r.Review != nil, "remote": r.Remote != nil,
	} {
		if set {
			extra = append(extra, name)
		}
	}
	switch {
	case len(extra) > 0:
		slices.Sort(extra)
		return fmt.Sprintf("The role %s is isolated, and has %s: leave them out, because nothing but data leaves its agents.", r.Name, strings.Join(extra, ", "))
	case r.OutputSchema == nil:
		return fmt.Sprintf("The role %s is isolated, and has no outputSchema: only data leaves its agents, so add one.", r.Name)
	}
	return ""
}
