// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package localmode

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// commands are what a newcomer's shell gets to talk with.
//
//go:embed use.sh
var commands string

// writeCommands writes the file that a shell reads to reach the demo.
func (l *Local) writeCommands(context.Context) error {
	text := fmt.Sprintf("# Written by the demo. Read it with: . %s\nexport KUBECONFIG=%s\nexport PATH=%s:\"$PATH\"\nexport NESTOR_GATEWAY=%s\nNESTOR_CHAT=%s\n%s",
		quote(l.commandFile()), quote(l.Kubeconfig), quote(filepath.Dir(l.Kubectl)), l.GatewayURL(), l.ChatName(), commands)
	if err := os.WriteFile(l.commandFile(), []byte(text), 0o600); err != nil {
		return fmt.Errorf("write the commands of the demo: %w", err)
	}
	return nil
}

func (l *Local) commandFile() string { return filepath.Join(l.Dir, "use.sh") }

// WhatNext returns the instructions for a running demo.
func (l *Local) WhatNext() string {
	return fmt.Sprintf(`
Open the web page (the link signs you in, once):

  %s

Or talk to it from another terminal:

  . %s        # kubectl for this cluster, and the commands say, talk, waiting and approve

  say "Review the sample project from three perspectives."
  kubectl get nestor                    # the chat, its tasks and sub-agents; three of them work at once
  waiting                               # one asks a question, one needs an approval for a file
  say "Only the shop's own network."
  approve
  talk                                  # the whole conversation
  kubectl get transcript subagent.%s-1 -o yaml     # everything one agent did
  kubectl get usages                    # what it used
  say Hello                             # what else there is to try

Programs reach the same agents over OpenAI's API, A2A, MCP and AG-UI at %s (docs/concepts/gateway.md).
The agents' files are in %s, the log of all parts is %s.
Ctrl-C stops everything and keeps the state; make demo-clean removes it.
`, l.page, quote(l.commandFile()), l.ChatName(), l.GatewayURL(), l.Sample, l.Log)
}

func quote(path string) string { return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'" }
