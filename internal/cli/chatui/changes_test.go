// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package chatui

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/cli/terminal"
)

func writeApproval(task string) v1beta1.ChatWaitingItem {
	return approvalOf(task, "write", `{"path":"a.txt","content":"b"}`)
}

// showWrite shows a call of write that may be decided, with a diff of the given number of lines.
func showWrite(t *testing.T, lines int) *harness {
	t.Helper()
	s := newHarness(t)
	s.actions.changes = []terminal.ChangeLine{{Text: "Changes of a.txt"}}
	for i := range lines {
		s.actions.changes = append(s.actions.changes, terminal.ChangeLine{Text: fmt.Sprintf("+line %d", i+1), InDiff: true})
	}
	s.send(Updated(chat(writeApproval("chat-1"))))
	s.send(armed("chat-1/c-chat-1"))
	return s
}

func TestWriteDiffOpensAndCloses(t *testing.T) {
	s := showWrite(t, 1)
	s.shows("ctrl+y approve · ctrl+n deny · ctrl+r diff; what you write becomes the comment")
	s.keys("not this")
	for _, closing := range []string{"esc", "ctrl+r", "q"} {
		s.keys("ctrl+r")
		s.shows("Changes of a.txt", "+line 1", "ctrl+y approve · ctrl+n deny · esc closes the diff")
		s.hides("❯")
		s.keys("x", closing) // x is not typed into the hidden input
		s.shows("❯ not this")
		s.hides("Changes of a.txt")
		s.hides("not thisx")
	}
	s.did()
}

func TestLongDiffScrolls(t *testing.T) {
	s := showWrite(t, 100)
	s.keys("ctrl+r")
	s.shows("0% · ↑↓ pgup pgdn scroll", "Changes of a.txt", "+line 21")
	s.hides("+line 22")
	s.send(tea.KeyPressMsg{Code: tea.KeyDown})
	s.shows("+line 22")
	s.hides("Changes of a.txt")
	s.send(tea.KeyPressMsg{Code: tea.KeyEnd})
	s.shows("+line 100", "100%")
	s.send(tea.KeyPressMsg{Code: tea.KeyPgUp})
	s.hides("+line 100")
	s.send(tea.KeyPressMsg{Code: tea.KeyHome})
	s.shows("Changes of a.txt")
}

func TestDiffIsShownExactly(t *testing.T) {
	s := showWrite(t, 0)
	s.actions.changes = []terminal.ChangeLine{{Text: "+" + strings.Repeat("wide ", 40) + "\x1b[2J\u202eend", InDiff: true}}
	s.keys("ctrl+r")
	s.shows(`␛[2J\u202eend`)
	for width := 20; width < 100; width += 7 {
		s.send(tea.WindowSizeMsg{Width: width, Height: 24})
		if got := strings.Count(s.screen(), "wide"); got < 20 { // some words are broken at the edge
			t.Errorf("at %d columns %d words of 40 are shown:\n%s", width, got, s.screen())
		}
		for _, line := range strings.Split(s.screen(), "\n") {
			if ansi.StringWidth(line) > width {
				t.Errorf("at %d columns a line is too long: %q", width, line)
			}
		}
	}
}

func TestDiffClosesWithItsCall(t *testing.T) {
	s := showWrite(t, 1)
	s.keys("ctrl+r")
	s.send(Updated(chat(writeApproval("chat-2"))))
	s.hides("+line 1")
	s.shows("the call no longer waits for an approval", "coder (chat-2) wants to run write")
	s.keys("ctrl+y") // meant for the call before
	s.did()

	s = showWrite(t, 1)
	s.keys("ctrl+r")
	s.send(Updated(chat()))
	s.shows("the call no longer waits for an approval")
	s.model, _ = s.model.Update(changesRead{call: "chat-1/c-chat-1", lines: s.actions.changes}) // it arrives late
	s.hides("+line 1")
}

func TestDiffDecisionsFollowPanelRules(t *testing.T) {
	s := showWrite(t, 1)
	s.keys("ctrl+r", "ctrl+y")
	s.did("Approve chat-1/c-chat-1 \"\"")
	s.shows("❯")

	s = newHarness(t)
	item := approvalOf("chat-1", "write", `{"path":"a.txt","content":"`+strings.Repeat(`line\n`, 40)+`"}`)
	s.send(Updated(chat(item)))
	s.send(armed("chat-1/c-chat-1"))
	s.keys("ctrl+r")
	s.send(tea.WindowSizeMsg{Width: 80, Height: 200}) // the arguments would fit, but are not on the screen
	s.send(tea.WindowSizeMsg{Width: 80, Height: 24})
	s.keys("ctrl+y")
	s.did()
	s.shows("read the whole call first")
	s.keys("ctrl+r", "ctrl+n")
	s.did("Deny chat-1/c-chat-1 \"\"")
}

func TestReasonsForNoDiff(t *testing.T) {
	s := newHarness(t)
	s.send(Updated(chat()))
	s.keys("ctrl+r")
	s.shows("nothing waits for an approval")
	s.send(Updated(chat(approval("chat-1"))))
	s.send(armed("chat-1/c-chat-1"))
	s.hides("ctrl+r")
	s.keys("ctrl+r")
	s.shows("only calls of write and patch have a diff")

	s = showWrite(t, 1)
	s.actions.changes = nil
	s.keys("ctrl+r")
	s.shows("these arguments cannot be shown as a diff")
	s.keys("esc")
	s.actions.err = errors.New("no right to read\x1b[2J files")
	s.keys("ctrl+r")
	s.shows("what the call would change cannot be shown: no right to read␛[2J files")

	s = newHarness(t)
	arguments := `{"path":"a.txt","content":"` + strings.Repeat("word ", 100) + `"}`
	item := approval("chat-1")
	item.Text, item.ArgumentsDigest = "write "+arguments[:200]+"…", agent.CallDigest("write", arguments)
	item.Tool, item.Arguments, item.ArgumentsOmitted = "write", nil, true
	s.actions.whole, s.actions.changes = arguments, []terminal.ChangeLine{{Text: "Changes of a.txt"}}
	s.send(Updated(chat(item)))
	s.send(armed("chat-1/c-chat-1"))
	s.keys("ctrl+r")
	s.shows("the full call has not arrived yet")
	s.keys("ctrl+r")
	s.shows("Changes of a.txt")
}
