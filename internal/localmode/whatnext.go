// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package localmode

import (
	"fmt"
	"path/filepath"
	"strings"
)

// WhatNext tells a newcomer what to do with a running demo.
func (l *Local) WhatNext() string {
	return fmt.Sprintf(`
Talk to it from another terminal:

  export KUBECONFIG=%[1]s PATH=%[2]s:"$PATH"
  say() { printf '{"apiVersion":"nestor.dev/v1alpha1","kind":"AgentMessage","metadata":{"generateName":"%[3]s-"},"spec":{"chat":"%[3]s","content":"%%s"}}' "$1" | kubectl create -f -; }

  say "Review the sample project from three perspectives."
  kubectl get nestor                    # the chat, its tasks and sub-agents, and what they said
  kubectl get agentmessages -o wide     # one agent asks a question:
  say "Only the shop's own network."
  kubectl get agentchat %[3]s -o jsonpath='{.status.waiting}'   # one wants approval for a file: put its task and toolCall here
  kubectl create -f - <<END
  {apiVersion: nestor.dev/v1alpha1, kind: AgentMessage, metadata: {generateName: %[3]s-}, spec: {chat: %[3]s, approval: {task: TASK, toolCall: CALL, decision: Approve}}}
  END
  kubectl describe subagent %[3]s-1
  say "Hello"                           # what else there is to try

The agents' files are in %[4]s, the log of all parts in %[5]s.
Ctrl-C stops everything and keeps the state; make demo-clean removes it.
`, quote(l.Kubeconfig), quote(filepath.Dir(l.Kubectl)), Chat, l.Sample, l.Log)
}

func quote(path string) string { return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'" }
