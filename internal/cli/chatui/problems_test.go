// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package chatui

import (
	"testing"

	tea "charm.land/bubbletea/v2"
)

func TestProblemsAreShownBelowHeader(t *testing.T) {
	s := newHarness(t)
	s.send(Updated(chat()))
	s.send(Problems{"The operator does not run. Start\x1b[2J it.", "The ledger does not work. Wait.", "A third."})
	s.shows("! The operator does not run. Start␛[2J it.", "! The ledger does not work. Wait.")
	s.hides("A third.")
	s.send(Problems{"The ToolServer weather is not ready: Unreachable. The server does not respond; check that it runs, and look at spec.url."})
	s.shows("check that it", "look at spec.url.")
	s.send(tea.WindowSizeMsg{Width: 80, Height: 12})
	s.shows("! The ToolServer weather")
	s.hides("look at spec.url.")
	s.send(Problems(nil))
	s.hides("The operator does not run.")
}
