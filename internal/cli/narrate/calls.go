// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package narrate

import historyv1 "github.com/nestor-dev/nestor/api/history/v1beta1"

// calls has the arguments of the calls of a transcript by their ID. A result has only the ID, and may come long after its call.
type calls map[string]string

// label returns the title of an entry: that of a result names the call with its arguments.
func (c calls) label(e historyv1.Entry) string {
	text := title(e)
	for _, call := range e.ToolCalls {
		if call.Arguments != "" {
			c[call.ID] = call.Arguments
			continue // the lines of the entry show it
		}
		if arguments := c[call.ID]; e.Kind == historyv1.EntryToolResult && arguments != "" && len(e.ToolCalls) == 1 {
			text += " " + brief(compact(arguments))
		}
	}
	return text
}
