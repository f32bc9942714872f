// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
)

const enter, escape, tab, ctrlC, ctrlE, ctrlO, ctrlN, ctrlR, ctrlY, pageUp = "\r", "\x1b", "\t", "\x03", "\x05", "\x0f", "\x0e", "\x12", "\x19", "\x1b[5~"

// openChat opens a new chat on a terminal, in a new namespace whose general agent needs approval for tools.
func openChat(t *testing.T, width, height int, environ ...string) *screen {
	t.Helper()
	return openChatWith(t, world.modelURL, width, height, environ...)
}

func openChatWith(t *testing.T, modelURL string, width, height int, environ ...string) *screen {
	t.Helper()
	dir := t.TempDir()
	namespace, kubeconfig, err := newNamespace(dir, modelURL)
	if err != nil {
		t.Fatal(err)
	}
	if err := world.api.Create(context.Background(), approvalRole(namespace)); err != nil {
		t.Fatal(err)
	}
	environ = append(environ, "KUBECONFIG="+kubeconfig, "HOME="+dir)
	return startScreen(t, command(dir, environ, "chat", "first", "--create"), width, height)
}

func TestChatOnAScreen(t *testing.T) {
	s := openChat(t, 80, 24)
	s.await("Nothing has been said yet.")
	s.typeKeys("Summarise what was released this year." + enter)
	s.await("researcher (first-1) asks: Which year is it?")
	s.await("enter answers it")
	s.typeKeys("It is 2024" + enter)
	s.await("Three releases came out: the spring, the summer and the winter release.")
	s.waitForGone("enter answers it")
	s.await("Idle")

	s.typeKeys("Add it up." + enter)
	s.await("general (first-2) wants to run calculator")
	s.await("expression: 6 * 7")
	decide(s, ctrlY, "approved")
	s.await("The sum is 42.")
	s.await("admin approved a call of first-2")

	s.typeKeys("Add it up, please." + enter)
	s.await("general (first-3) wants to run calculator")
	s.typeKeys("not today")
	decide(s, ctrlN, "denied")
	s.await("admin denied a call of first-3: not today")
	s.await("The agent was not allowed to calculate.")

	s.typeKeys(ctrlC)
	if code := s.waitExit(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	s.await("The agents keep running. To return to the chat: kubectl nestor chat first")
}

// decide presses the key of a decision twice when the screen offers it, to check that it counts once.
func decide(s *screen, key, done string) {
	s.t.Helper()
	s.await("ctrl+y approve")
	s.typeKeys(key + key)
	s.await(done + " calculator")
}

func TestEditorChangesArguments(t *testing.T) {
	editor := filepath.Join(t.TempDir(), "editor")
	if err := os.WriteFile(editor, []byte("#!/bin/sh\nsed -i 's/6 [*] 7/6 * 8/' \"$1\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	s := openChat(t, 100, 24, "EDITOR="+editor)
	s.await("Nothing has been said yet.")
	s.typeKeys("Add it up." + enter)
	s.await("general (first-1) wants to run calculator")
	s.await("ctrl+e edit")
	s.typeKeys(ctrlE)
	s.await("approved calculator of first-1 with changed arguments")
	s.await("The sum is 42.") // the scripted model does not read the result
	s.typeKeys(ctrlC)
	s.waitExit()
}

func TestChatFollowsTerminalSize(t *testing.T) {
	s := openChat(t, 80, 24)
	s.await("Nothing has been said yet.")
	s.typeKeys("Research the history of the lighthouse of Alexandria." + enter)
	s.await("Earthquakes")
	s.await("Idle")
	for _, size := range []struct{ width, height int }{{40, 12}, {120, 40}, {20, 6}, {80, 24}} {
		s.resize(size.width, size.height)
		s.await(strings.Repeat("─", size.width))
		lines := strings.Split(s.text(), "\n")
		if len(lines) > size.height {
			t.Errorf("%d lines on a screen of %d", len(lines), size.height)
		}
		if !strings.HasPrefix(lines[0], "first") {
			t.Errorf("at %dx%d the first line is %q", size.width, size.height, lines[0])
		}
		for _, line := range lines {
			if ansi.StringWidth(line) > size.width {
				t.Errorf("at %dx%d a line is too long: %q", size.width, size.height, line)
			}
		}
	}
	s.await("Research the history of the lighthouse of Alexandria.")
}

func TestTaskBlocksOpenNestedAgents(t *testing.T) {
	s := openChat(t, 100, 50)
	s.await("Nothing has been said yet.")
	s.typeKeys("Add authentication to the API." + enter)
	s.await("five tests pass")
	s.await("▸ ✓ first-1 coder") // its status may arrive after the answer
	if strings.Contains(s.text(), "tester") {
		t.Errorf("a closed block shows what is inside:\n%s", s.text())
	}
	s.typeKeys(tab)
	s.await("↑↓ choose")
	s.typeKeys(enter)
	s.await("▾ ✓ first-1 coder")
	s.await("│ ▸ ✓ first-1-1 tester")
	s.typeKeys("\x1b[B" + enter)
	s.await("│ ▾ ✓ first-1-1 tester")
	s.await("│ │ Write and run tests of the token middleware.")

	// Typing moves the focus back to the input.
	s.typeKeys("hello")
	s.await("❯ hello")
}

// hostile matches control sequences of the model's reply that must not reach the terminal.
var hostile = regexp.MustCompile(`owned|\x1b\[31mred|\x{9b}`)

func TestModelsCannotActOnTerminal(t *testing.T) {
	s := openChat(t, 80, 24)
	s.await("Nothing has been said yet.")
	s.typeKeys("Show me Markdown." + enter)
	s.await("• one")
	s.typeKeys("Say something nasty." + enter)
	s.await("␛]0;owned␇␛[2J␛[31mred␛[0m")
	s.await("␛[2J after")
	s.await("Idle")
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, found := range regexp.MustCompile("\x1b\\][^\x07\x1b]*").FindAllString(s.raw.String(), -1) {
		if hostile.MatchString(found) {
			t.Errorf("the model's text was written as an escape sequence: %q", found)
		}
	}
	if strings.Contains(s.raw.String(), "\x1b[31mred") || strings.Contains(s.raw.String(), "\u009b") {
		t.Error("the model's text was written unescaped")
	}
}

func TestColourIsOptional(t *testing.T) {
	s := openChat(t, 80, 24, "NO_COLOR=1")
	s.await("Nothing has been said yet.")
	s.typeKeys("Show me Markdown." + enter)
	s.await("• one")
	s.mu.Lock()
	defer s.mu.Unlock()
	if colour := regexp.MustCompile(`\x1b\[[0-9;]*\b(3[0-7]|9[0-7]|38|48)[;m]`).FindString(s.raw.String()); colour != "" {
		t.Errorf("colour %q although NO_COLOR is set", colour)
	}
}
