// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

const askerScript = `
name: asker
rules:
- match: {role: asker, turn: 1}
  reply: {toolCalls: [{name: ask_user, arguments: {question: 'Shall we go on?'}}]}
- match: {role: asker}
  reply: {toolCalls: [{name: submit_result, arguments: {result: 'You said: {{.last}}'}}]}
`

func upgradeSpecs(c *cluster) {
	It("takes new values with active and waiting agents", func(ctx SpecContext) {
		asked := c.startAsker(ctx)
		t := c.startTally(ctx, "upgraded", 40)
		t.waitForDone(ctx, 4)
		c.upgrade(ctx, "log.level=debug", "extraArgs={--log-format=text}", "podAnnotations.e2e=upgraded")
		Expect(c.operators(ctx)).To(HaveEach(HaveField("Annotations", HaveKeyWithValue("e2e", "upgraded"))))
		t.expectOnce(ctx)

		asked.sendMessage(ctx, v1beta1.AgentMessageSpec{Task: "asker", Content: "Yes."})
		Eventually(asked.task("asker")).WithContext(ctx).Should(And(
			HaveField("Status.Phase", v1beta1.TaskSuccess), HaveField("Status.Result.Summary", ContainSubstring("Yes."))))
	})
}

// startAsker runs a task that waits for an answer.
func (c *cluster) startAsker(ctx context.Context) person {
	GinkgoHelper()
	c.namespace(ctx, "patience", "frank")
	c.kubectl(ctx, "-n", "patience", "create", "rolebinding", "runs-frank", "--clusterrole=nestor-runner", "--user=frank")
	c.addScript(ctx, askerScript)
	c.apply(ctx, `
apiVersion: nestor.dev/v1beta1
kind: AgentRole
metadata: {name: asker, namespace: patience}
spec: {systemPrompt: You ask first., tools: {allow: []}}
`)
	frank := c.person("frank", "patience")
	task := &v1beta1.AgentTask{ObjectMeta: frank.meta("asker"), Spec: v1beta1.AgentTaskSpec{
		Type: v1beta1.TaskAgent, Role: "asker", Instruction: "Ask before you go on.",
	}}
	Expect(frank.Create(ctx, task)).To(Succeed())
	Eventually(frank.task("asker")).WithContext(ctx).Should(HaveField("Status.Waiting.Kind", v1beta1.WaitingQuestion))
	return frank
}

// upgrade upgrades the installation with other values, and waits for the rollout.
func (c *cluster) upgrade(ctx context.Context, more ...string) {
	GinkgoHelper()
	chart, _ := c.charts()
	args := []string{"upgrade", release, chart, "--namespace", systemNamespace, "--wait", "--timeout", "5m"}
	c.helm(ctx, append(args, c.values(more...)...)...)
}
