// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package agent

// MaxEditedArguments bounds the arguments that a person writes, in bytes.
const MaxEditedArguments = 32_768

// ArgumentEdit records that a person changed the arguments of a call when approving it.
type ArgumentEdit struct {
	// Before are the arguments that the person was shown.
	Before string `json:"before"`
	// User is the user name of the person.
	User string `json:"user"`
}

// accepts reports whether a decision about a call takes effect.
func (s State) accepts(f Decided, c BatchCall) bool {
	return f.about(c) && s.Config.Role.allowsDecision(f, c.rules()) && (!f.edits(c) || s.acceptsEdit(f, c))
}

// edits reports whether a decision changes the arguments of a call.
func (f Decided) edits(c BatchCall) bool { return f.Arguments != "" && f.Arguments != c.Arguments }

func (s State) acceptsEdit(f Decided, c BatchCall) bool {
	byPerson := f.Approve && f.User != "" && f.Allowance == ""
	valid := len(f.Arguments) <= MaxEditedArguments && isObject(f.Arguments) &&
		f.EditedDigest == CallDigest(c.Tool, f.Arguments)
	return byPerson && valid && s.IsEditable(c)
}

// IsEditable reports whether a person may change the arguments of a call: the role must allow it, no one may decide
// about their own arguments where requesters are denied, and the call must not have begun.
func (s State) IsEditable(c BatchCall) bool {
	begun := c.Input != nil || c.Unverified || c.Repeats > 0
	return s.Config.Role.EditableApprovals && s.IsPlainTool(c.Tool) && !begun && !s.DeniesRequesters(c)
}

// withArguments replaces the arguments of a call with the approver's. Policies judge them before the call starts.
// Earlier approvals do not count, because they were for other arguments.
func (c BatchCall) withArguments(f Decided) BatchCall {
	if !f.edits(c) {
		return c
	}
	c.Edits = append(c.Edits[:len(c.Edits):len(c.Edits)], ArgumentEdit{Before: c.Arguments, User: f.User})
	c.Arguments, c.Approved = f.Arguments, nil
	return c
}

// addEditor makes the person who wrote arguments a requester, so that under DenyRequesters another person decides about
// later calls.
func (s State) addEditor(f Decided, c BatchCall) State {
	if !f.edits(c) {
		return s
	}
	return s.addRequester(f.User, false)
}

// withEditNote adds to the answer the arguments that were used instead of the model's.
func (c BatchCall) withEditNote(answer string) string {
	if len(c.Edits) == 0 {
		return answer
	}
	return answer + "\n\nThe approver changed the arguments of this call. They were: " + c.Arguments
}
