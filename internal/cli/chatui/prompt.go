// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package chatui

import (
	"time"

	tea "charm.land/bubbletea/v2"
)

// prompt is the approval in the panel. It accepts a decision only after a delay, so that a key pressed twice does not
// decide about the next call unseen.
type prompt struct {
	key      string
	ready    bool
	expanded bool // the panel shows more of the arguments, which scroll
	top      int  // the first line of the arguments that it shows
	read     bool // the last line has been shown
	decided  bool // the decision is being sent
}

// armDelay is how long an approval is shown before it can be decided.
const armDelay = 400 * time.Millisecond

// armed is sent when an approval has been shown for armDelay.
type armed string

func (p prompt) forCall(key string) (prompt, tea.Cmd) {
	if p.key == key {
		return p, nil
	}
	return prompt{key: key}, tea.Tick(armDelay, func(time.Time) tea.Msg { return armed(key) })
}

func (p prompt) arm(key armed) prompt {
	if p.key == string(key) {
		p.ready = true
	}
	return p
}
