// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	historyv1beta1 "github.com/nestor-dev/nestor/api/history/v1beta1"
	"github.com/nestor-dev/nestor/api/v1beta1"
)

// tallyScript fans out to agents that each append a line to a file, which cannot be undone.
const tallyScript = `
name: tally
defaults: {latency: 200ms, chunkDelay: 5ms}
rules:
- match: {role: orchestrator, lastMessage: '/^Tally (?P<n>\d+)$/'}
  reply:
    toolCalls:
    - name: spawn_agents
      arguments: '{"tasks":[{{range $i, $_ := count .n}}{{if $i}},{{end}}{"role":"tallyman","task":"Tally step {{$i}}."}{{end}}]}'
- {match: {role: orchestrator, toolResult: {tool: spawn_agents}}, reply: {}}
- {match: {role: orchestrator, lastMessage: Step done}, reply: {text: All steps are tallied.}}
- match: {role: tallyman, turn: 1, history: '/Tally step (?P<i>\d+)\./'}
  reply: {toolCalls: [{name: bash, arguments: {command: 'echo step-{{.i}} >>tally.txt; sleep 0.5'}}]}
- match: {role: tallyman}
  reply: {toolCalls: [{name: submit_result, arguments: {result: Step done.}}]}
`

// tallyRole lets agents run commands without approval, so that many run in parallel.
const tallyRole = `
apiVersion: nestor.dev/v1beta1
kind: AgentRole
metadata: {name: tallyman, namespace: NAMESPACE}
spec: {systemPrompt: You make marks., tools: {allow: [bash]}, approval: {mode: Never}}
---
apiVersion: nestor.dev/v1beta1
kind: AgentRole
metadata: {name: orchestrator, namespace: NAMESPACE}
spec: {delegation: {roles: [tallyman]}}
`

// tally is a fan-out whose effects are counted.
type tally struct {
	*cluster
	person
	chat  *v1beta1.AgentChat
	steps int
}

// startTally starts a fan-out with the given number of steps in a new namespace.
func (c *cluster) startTally(ctx context.Context, namespace string, steps int) *tally {
	GinkgoHelper()
	c.namespace(ctx, namespace, "erin")
	c.addScript(ctx, tallyScript)
	c.apply(ctx, strings.ReplaceAll(tallyRole, "NAMESPACE", namespace))
	t := &tally{cluster: c, person: c.person("erin", namespace), steps: steps}
	t.chat = t.openChat(ctx, "tally", &v1beta1.Workspace{EmptyDir: &v1beta1.EmptyDirSource{}})
	t.sendMessage(ctx, v1beta1.AgentMessageSpec{Chat: "tally", Content: fmt.Sprintf("Tally %d", steps)})
	return t
}

// waitForDone waits until the given number of steps is done while others are still running.
func (t *tally) waitForDone(ctx context.Context, steps int) {
	GinkgoHelper()
	Eventually(t.done).WithContext(ctx).Should(BeNumerically(">=", steps))
	Expect(t.done(ctx)).To(BeNumerically("<", t.steps), "the work should not be finished yet")
}

func (t *tally) done(ctx context.Context) (int, error) {
	tasks, err := t.tasks("tally")(ctx)
	n := 0
	for _, task := range tasks {
		if task.Status.Phase == v1beta1.TaskSuccess {
			n++
		}
	}
	return n, err
}

// expectOnce waits for the end, and checks that nothing was lost or repeated.
func (t *tally) expectOnce(ctx context.Context) {
	GinkgoHelper()
	Eventually(t.posts("tally")).WithContext(ctx).WithTimeout(6*time.Minute).Should( // it starts many pods
		ContainElement("All steps are tallied."), "the end of the fan-out")
	Eventually(t.person.chat("tally")).WithContext(ctx).Should(HaveField("Status.Phase", v1beta1.ChatIdle))
	Expect(t.posts("tally")(ctx)).To(Equal([]string{"All steps are tallied."}), "one answer, and one only")
	Expect(t.tasks("tally")(ctx)).To(And(HaveLen(t.steps), HaveEach(HaveField("Status.Phase", v1beta1.TaskSuccess))), "the tasks")
	unknown := t.expectMarks(ctx)
	repeated := t.expectPaidOnce(ctx)
	AddReportEntry("counted", fmt.Sprintf("%d steps; %d calls with an unknown outcome, said to be; %d interrupted model calls made again",
		t.steps, unknown, repeated), ReportEntryVisibilityAlways)
}

// expectMarks compares the file with the results of the agents. A missing line belongs to a call with an unknown
// outcome; no line occurs twice.
func (t *tally) expectMarks(ctx context.Context) (unknown int) {
	GinkgoHelper()
	marks := map[string]int{}
	for mark := range strings.FieldsSeq(t.inWorkspace(ctx, t.person.namespace, "cat tally.txt")) {
		marks[mark]++
	}
	var agents v1beta1.SubAgentList
	Expect(t.List(ctx, &agents, client.InNamespace(t.person.namespace))).To(Succeed())
	Expect(agents.Items).To(HaveLen(t.steps), "the agents")
	for _, agent := range agents.Items {
		var step int
		_, err := fmt.Sscanf(agent.Spec.Instruction, "Tally step %d.", &step)
		Expect(err).NotTo(HaveOccurred())
		Expect(agent.Status.ToolCalls).NotTo(BeEmpty(), agent.Name)
		call := agent.Status.ToolCalls[0]
		n := marks[fmt.Sprintf("step-%d", step)]
		if call.Phase == v1beta1.ToolCallUnknown {
			unknown++
			Expect(n).To(BeNumerically("<=", 1), "the marks of step %d, whose outcome is unknown", step)
			continue
		}
		Expect(call.Phase).To(Equal(v1beta1.ToolCallSuccess), "step %d", step)
		Expect(n).To(Equal(1), "the marks of step %d", step)
	}
	return unknown
}

// expectPaidOnce compares the model's requests with the ledger, read through the history API: an interrupted call may
// be repeated, a finished one may not.
func (t *tally) expectPaidOnce(ctx context.Context) (repeated int) {
	GinkgoHelper()
	var calls historyv1beta1.ModelCallList
	Expect(t.api.List(ctx, &calls, client.InNamespace(t.person.namespace))).To(Succeed())
	ended := map[string]time.Time{}
	for _, call := range calls.Items {
		Expect(call.Status.CompletionTime).NotTo(BeNil(), "call %s never ended", call.Name)
		ended[call.Name] = call.Status.CompletionTime.Time
	}
	seen := map[string]int{}
	for agent := range agentUIDs(calls.Items) {
		for _, r := range t.requests(ctx, agent+"/") {
			// The key is UID/model/CALL/ATTEMPT, and the name in the history UID.CALL.ATTEMPT.
			name := strings.ReplaceAll(strings.Replace(r.IdempotencyKey, "/model/", "/", 1), "/", ".")
			end, known := ended[name]
			Expect(known).To(BeTrue(), "the model was asked %s, which the ledger does not know", r.IdempotencyKey)
			Expect(r.At).To(BeTemporally("<=", end), "call %s was made again after its end", name)
			if seen[name]++; seen[name] > 1 {
				repeated++
			}
		}
	}
	for name := range ended {
		Expect(seen).To(HaveKey(name), "a call that the model never got")
	}
	return repeated
}

func agentUIDs(calls []historyv1beta1.ModelCall) map[string]bool {
	agents := map[string]bool{}
	for _, call := range calls {
		agents[string(call.Spec.Agent)] = true
	}
	return agents
}
