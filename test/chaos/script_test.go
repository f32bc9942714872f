// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"fmt"
	"strings"
	"time"
)

// The steps of an instruction. The model makes one of them in each iteration.
const (
	stepRead       = "look"     // a read-only tool
	stepPut        = "put"      // an idempotent tool
	stepWrite      = "write"    // a tool that must not be repeated
	stepBoth       = "both"     // two calls in one reply
	stepNonsense   = "nonsense" // a tool that does not exist, and arguments that are not JSON
	stepAsk        = "ask"      // a question that the user answers
	stepUnanswered = "park"     // a question without an answer
	stepUndecided  = "hold"     // a call without a decision
	stepSpawn      = "spawn"    // sub-agents, as described in the second line of the instruction
	stepDone       = "done"     // the end with a result
	stepAnswer     = "say"      // the end with a plain answer
	stepFail       = "fail"     // the end with an error
	// stepSpin is used alone: a tool call in every iteration, without end.
	stepSpin = "spin"
)

// maxSteps is the longest instruction that the script supports.
const maxSteps = 7

// replies are the model's replies for the steps. JOB and STEP are replaced by the job and the number of the step.
var replies = map[string]string{
	stepRead:       `toolCalls: [{name: chaos__look, arguments: {job: JOB, step: STEP}}]`,
	stepPut:        `toolCalls: [{name: chaos__put, arguments: {job: JOB, step: STEP}}]`,
	stepWrite:      `toolCalls: [{name: chaos__write, arguments: {job: JOB, step: STEP}}]`,
	stepUndecided:  `toolCalls: [{name: chaos__write, arguments: {job: JOB, step: hold}}]`,
	stepBoth:       `toolCalls: [{name: chaos__look, arguments: {job: JOB, step: STEP}}, {name: chaos__write, arguments: {job: JOB, step: STEP}}]`,
	stepNonsense:   `toolCalls: [{name: teleport, arguments: {to: Alexandria}}, {name: chaos__look, arguments: '{"job": '}]`,
	stepAsk:        `toolCalls: [{name: ask_user, arguments: {question: "Which way at step STEP of job {{.job}}?"}}]`,
	stepUnanswered: `toolCalls: [{name: ask_user, arguments: {question: "Nobody knows step STEP of job {{.job}}."}}]`,
	stepSpawn:      `toolCalls: [{name: spawn_agents, arguments: '{{.spawn}}'}]`,
	stepDone:       `toolCalls: [{name: submit_result, arguments: {result: "Job {{.job}} is done."}}]`,
	stepAnswer:     `text: "Job {{.job}} is done."`,
	stepFail:       `toolCalls: [{name: submit_error, arguments: {error: "Job {{.job}} cannot be done."}}]`,
}

// script returns the script of the model. It depends only on the conversation: the instruction contains the steps.
func script(latency time.Duration) string {
	var b strings.Builder
	fmt.Fprintf(&b, "name: chaos\ndefaults: {latency: %s, chunkDelay: 2ms, chunkSize: 12}\nrules:\n", latency)
	rule := func(match, reply string) { fmt.Fprintf(&b, "- match: {%s}\n  reply: {%s}\n", match, reply) }
	rule(`noTools: true`, `text: That is all that I have.`)
	rule(`role: orchestrator, turn: 1, history: '/^Chaos chat \S+\n(?P<spawn>\{.*\})$/'`, replies[stepSpawn])
	rule(`role: orchestrator, lastMessage: '/sub_agent "(?P<agent>[a-z0-9-]+)"\) is asking: Which way/'`,
		`toolCalls: [{name: reply_to_agent, arguments: {sub_agent: '{{.agent}}', answer: Left., confidence: 90}}]`)
	rule(`role: orchestrator`, `text: Noted.`)
	rule(`history: '/^Chaos job (?P<job>\S+): 1 spin/'`, `toolCalls: [{name: chaos__look, arguments: {job: '{{.job}}', step: '{{.turn}}'}}]`)
	for turn := 1; turn <= maxSteps; turn++ {
		for step, reply := range replies {
			number := fmt.Sprintf("'%d'", turn)
			if strings.Contains(reply, `"Which`) || strings.Contains(reply, `"Nobody`) {
				number = fmt.Sprint(turn)
			}
			spawn := ""
			if step == stepSpawn {
				spawn = `\n(?P<spawn>\{.*\})`
			}
			match := fmt.Sprintf(`turn: %d, history: '/^Chaos job (?P<job>\S+):[^\n]* %d %s\b[^\n]*%s/'`, turn, turn, step, spawn)
			rule(match, strings.NewReplacer("JOB", "'{{.job}}'", "STEP", number).Replace(reply))
		}
	}
	return b.String()
}

var modelFaults = map[string]string{
	"429":       `error: {status: 429, retryAfter: 1s, message: Slow down.}`,
	"500":       `error: {status: 500, message: The server had an error.}`,
	"503":       `error: {status: 503, message: The engine is overloaded.}`,
	"hang":      `fault: {kind: hang}`,
	"late hang": `text: "This answer never comes to its end.", chunkSize: 4, fault: {kind: hang, after: 3}`,
	"cut":       `text: "This answer is cut before its end.", chunkSize: 4, fault: {kind: cut, after: 3}`,
	"malformed": `text: "This answer breaks.", chunkSize: 4, fault: {kind: malformed, after: 3}`,
	"empty":     ``,
	"not JSON":  `raw: {status: 200, body: "<html>Welcome to the proxy.</html>"}`,
}

// failingScript makes the next model calls fail with one of these faults.
func failingScript(kind string, times int) string {
	match := ""
	if kind == "empty" { // an empty reply ends the turn of an orchestrator, which would then never start its work
		match = "tools: [submit_result]"
	}
	return fmt.Sprintf("name: failing\nrules:\n- match: {%s}\n  times: %d\n  reply: {%s}\n", match, times, modelFaults[kind])
}
