// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package localmode

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// writeCommands writes the file that a shell reads to reach the demo.
func (l *Local) writeCommands(context.Context) error {
	path := quote(filepath.Dir(l.Kubectl))
	if l.options.CLI != "" {
		path = quote(filepath.Dir(l.options.CLI)) + ":" + path
	}
	text := fmt.Sprintf("# Written by the demo. Read it with: . %s\nexport KUBECONFIG=%s\nexport PATH=%s:\"$PATH\"\nexport NESTOR_GATEWAY=%s\n",
		quote(l.commandFile()), quote(l.Kubeconfig), path, l.GatewayURL())
	if err := os.WriteFile(l.commandFile(), []byte(text), 0o600); err != nil {
		return fmt.Errorf("write the commands of the demo: %w", err)
	}
	return nil
}

func (l *Local) commandFile() string { return filepath.Join(l.Dir, "use.sh") }

// WhatNext returns the instructions for a running demo. The commands are those of docs/tasks/first-chat.md.
func (l *Local) WhatNext() string {
	var b strings.Builder
	fmt.Fprintf(&b, "\nIn another terminal:\n\n  . %s        # kubectl and kubectl nestor for this demo\n\n", quote(l.shown(l.commandFile())))
	if l.options.CLI == "" {
		b.WriteString("  make build && export PATH=\"$PWD/bin:$PATH\"     # kubectl nestor was not built with this demo\n\n")
	}
	for _, command := range l.hints() {
		fmt.Fprintf(&b, "  %s\n", command)
	}
	if l.page != "" {
		fmt.Fprintf(&b, "\nOr open the web page (the link signs you in once; the address and your session\nstay valid over restarts):\n\n  %s\n", l.page)
	} else {
		b.WriteString("\nThe web page is not in this build: it needs npm (`make web`, then start again),\nor a release, which has it. The terminal does the same.\n")
	}
	fmt.Fprintf(&b, `
Every new chat has its own copy of the sample project as its workspace, in %s
OpenAI, A2A, MCP and AG-UI clients (docs/concepts/gateway.md): %s
The log of all parts: %s
o and Enter stop the operator alone, to see what then happens, and start it again.
Ctrl-C stops everything and keeps the state; make demo-clean removes it.
`, l.shown(l.projects()), l.GatewayURL(), l.shown(l.Log))
	return b.String()
}

// hints returns commands to try, which fit the model and what has happened in the chat.
func (l *Local) hints() []string {
	chat := l.ChatName()
	switch {
	case !l.fresh:
		return []string{
			explained("kubectl nestor chat "+chat, "the conversation so far, on the full screen"),
			explained("kubectl nestor tree "+chat, "its agents"),
			explained("kubectl nestor approve", "what waits for a decision"),
		}
	case l.options.Model.Real():
		return []string{
			"kubectl nestor send " + chat + " \"" + realRequest + "\" --follow",
			explained("kubectl nestor tree "+chat, "its agents, and what waits for you"),
			explained("kubectl nestor approve", "what waits for a decision"),
			explained("kubectl nestor chat "+chat, "the conversation on the full screen"),
		}
	}
	return []string{
		"kubectl nestor send first \"What is 17 * 23?\" --wait",
		"kubectl nestor send first \"" + tourRequest + "\" --follow",
		explained("kubectl nestor tree first", "one agent asks, one needs approval"),
		"kubectl nestor send first-2 \"" + tourAnswer + "\"",
		"kubectl nestor approve first-3",
		explained("kubectl nestor chat first", "the conversation on the full screen"),
		explained("kubectl nestor transcript first-3", "everything one agent did"),
	}
}

// explained returns a command with a comment, aligned with those of other commands.
func explained(command, comment string) string { return fmt.Sprintf("%-36s  # %s", command, comment) }

// realRequest is a first message for a real model.
const realRequest = "What is this project, and what would you improve first?"

// ideas returns first messages for the page, which fit the model.
func (l *Local) ideas() []string {
	if l.options.Model.Real() {
		return []string{realRequest, "Review this project from three perspectives: security, documentation and quality.", "Write a test for the most important function."}
	}
	return []string{tourRequest, "What is 17 * 23?", "Hello"}
}

// shown returns a path for people: relative to the current directory if it is below it.
func (l *Local) shown(path string) string {
	here, err := os.Getwd()
	if err != nil {
		return path
	}
	relative, err := filepath.Rel(here, path)
	if err != nil || strings.HasPrefix(relative, "..") {
		return path
	}
	return relative
}

func quote(path string) string {
	if !strings.ContainsFunc(path, func(r rune) bool { return !strings.ContainsRune(safe, r) }) {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}

// safe has the characters that a shell does not interpret.
const safe = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+@"
