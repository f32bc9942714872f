// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

// clerkScript reads without approval, and writes and runs commands after approval.
const clerkScript = `
name: clerk
rules:
- match: {role: clerk, turn: 1}
  reply: {toolCalls: [{name: read, arguments: {path: README.md}}]}
- match: {role: clerk, turn: 2}
  reply: {toolCalls: [{name: write, arguments: {path: notes/today.txt, content: "Counted 3 files.\n"}}]}
- match: {role: clerk, turn: 3}
  reply: {toolCalls: [{name: bash, arguments: {command: "cat notes/today.txt; id -u; git --version; ssh -V; env"}}]}
- match: {role: clerk}
  reply: {toolCalls: [{name: submit_result, arguments: {result: '{{.last}}'}}]}
`

func workspaceSpecs(c *cluster) {
	It("runs a workspace pod that reads, writes after approval and runs commands", func(ctx SpecContext) {
		c.namespace(ctx, "office", "bob")
		c.kubectl(ctx, "-n", "office", "create", "rolebinding", "runs-bob", "--clusterrole=nestor-runner", "--user=bob")
		c.layOutSample(ctx, "office", "files")
		c.addScript(ctx, clerkScript)
		c.apply(ctx, `
apiVersion: nestor.dev/v1beta1
kind: AgentRole
metadata: {name: clerk, namespace: office}
spec: {systemPrompt: You keep notes., tools: {allow: [read, write, bash]}}
`)
		bob := c.person("bob", "office")
		task := &v1beta1.AgentTask{ObjectMeta: bob.meta("notes")}
		task.Spec = v1beta1.AgentTaskSpec{Type: v1beta1.TaskAgent, Role: "clerk", Instruction: "Keep notes.", Workspace: onClaim("files")}
		Expect(bob.Create(ctx, task)).To(Succeed())

		By("waiting before it writes")
		Eventually(bob.task("notes")).WithContext(ctx).Should(HaveField("Status.Waiting.Kind", v1beta1.WaitingApproval))
		Expect(c.inWorkspace(ctx, "office", "ls")).To(And(ContainSubstring("README.md"), Not(ContainSubstring("notes"))))
		waiting, err := bob.task("notes")(ctx)
		Expect(err).NotTo(HaveOccurred())
		first := waiting.Status.Waiting.ToolCall
		bob.approve(ctx, "", "notes", first)

		By("waiting before it runs a command")
		Eventually(bob.task("notes")).WithContext(ctx).Should(And(
			HaveField("Status.Waiting.Kind", v1beta1.WaitingApproval), HaveField("Status.Waiting.ToolCall", Not(Equal(first)))))
		Expect(c.inWorkspace(ctx, "office", "cat notes/today.txt")).To(Equal("Counted 3 files.\n"))
		waiting, err = bob.task("notes")(ctx)
		Expect(err).NotTo(HaveOccurred())
		bob.approve(ctx, "", "notes", waiting.Status.Waiting.ToolCall)

		Eventually(bob.task("notes")).WithContext(ctx).Should(HaveField("Status.Phase", v1beta1.TaskSuccess))
		done, err := bob.task("notes")(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(done.Status.Result.Details + done.Status.Result.Summary).To(And(
			ContainSubstring("Counted 3 files."), ContainSubstring("65532"), ContainSubstring("git version"), ContainSubstring("OpenSSH")))
		Expect(done.Status.Result.Details+done.Status.Result.Summary).NotTo(ContainSubstring("TOKEN"), "commands do not see the workspace's token")
	})

	It("restricts the pod and deletes everything with its owner", func(ctx SpecContext) {
		var pods corev1.PodList
		Expect(c.api.List(ctx, &pods, client.InNamespace("office"))).To(Succeed())
		Expect(pods.Items).To(HaveLen(1))
		Expect(*pods.Items[0].Spec.AutomountServiceAccountToken).To(BeFalse())
		Expect(c.kubectl(ctx, "-n", "office", "get", "networkpolicy,service,secret", "-o", "name")).To(And(
			ContainSubstring("networkpolicy"), ContainSubstring("service/"), ContainSubstring("secret/")))
		c.kubectl(ctx, "-n", "office", "delete", "agenttask", "notes")
		Eventually(func() string {
			return c.kubectl(ctx, "-n", "office", "get", "pods,networkpolicy,service,secret,subagents", "-o", "name")
		}).
			WithContext(ctx).Should(BeEmpty())
	})
}
