// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"fmt"
	"os"
	"time"
)

// No two calls of an agent are the same, so that loop detection is not triggered.
const turnsOf = `- {match: {turn: %d}, reply: {toolCalls: [{name: submit_result, arguments: {result: Work done.}}]}}
- {reply: {toolCalls: [%s]}}
`

const orchestration = `- match: {role: orchestrator, lastMessage: '/^Fan out (?P<n>\d+)$/'}
  reply:
    toolCalls:
    - name: spawn_agents
      arguments: '{"tasks":[{{range $i, $_ := count .n}}{{if $i}},{{end}}{"task":"Work {{$i}}","role":"worker"}{{end}}]}'
- {match: {role: orchestrator, toolResult: {tool: spawn_agents}}, reply: {}}
- {match: {role: orchestrator}, reply: {text: 'Answer {{.turn}}.'}}
`

const question = `- {match: {turn: 1}, reply: {toolCalls: [{name: ask_user, arguments: {question: 'Which of the two?'}}]}}
- {reply: {toolCalls: [{name: submit_result, arguments: {result: Work done.}}]}}
`

// turnsScript makes each agent do tool turns and submit a result.
func turnsScript(tool Tool, turns int, latency time.Duration) string {
	return head(latency) + fmt.Sprintf(turnsOf, turns+1, tool.call)
}

// chatScript answers in a chat, and fans out to agents with two tool turns each.
func chatScript(tool Tool, turns int, latency time.Duration) string {
	return head(latency) + orchestration + fmt.Sprintf(turnsOf, turns+1, tool.call)
}

// questionScript makes each agent ask a person at once.
func questionScript() string { return head(0) + question }

func head(latency time.Duration) string {
	return fmt.Sprintf("name: bench\ndefaults: {latency: %s}\nrules:\n", latency)
}

func writeScript(text string) (string, error) {
	file, err := os.CreateTemp("", "nestor-bench-*.yaml")
	if err != nil {
		return "", fmt.Errorf("write the model's script: %w", err)
	}
	if _, err := file.WriteString(text); err != nil {
		return "", fmt.Errorf("write the model's script: %w", err)
	}
	return file.Name(), file.Close()
}
