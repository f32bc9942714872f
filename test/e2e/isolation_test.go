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

// allowedPlacements are the values of the chart for the workspaces of isolationSpecs.
var allowedPlacements = []string{
	"workspace.allow.runtimeClassNames={cell}", `workspace.allow.nodeSelector.kubernetes\.io/os={linux}`,
	"workspace.allow.tolerations[0].key=cells", "workspace.allow.tolerations[0].operator=Exists",
}

const guardScript = `
name: guard
rules:
- match: {role: guard, turn: 1}
  reply: {toolCalls: [{name: bash, arguments: {command: "uname -s"}}]}
- match: {role: guard}
  reply: {toolCalls: [{name: submit_result, arguments: {result: '{{.last}}'}}]}
`

// isolationSpecs run a workspace under another handler of the container runtime. On the node of hack/realnode it is runc by another name.
func isolationSpecs(c *cluster) {
	It("runs a workspace in an allowed runtime class and on allowed nodes, and refuses others", func(ctx SpecContext) {
		handler := "isolated"
		if c.node == nil {
			handler = "runc"
		}
		c.namespace(ctx, "cells", "rosa")
		c.kubectl(ctx, "-n", "cells", "create", "rolebinding", "runs-rosa", "--clusterrole=nestor-runner", "--user=rosa")
		c.addScript(ctx, guardScript)
		c.apply(ctx, `
apiVersion: node.k8s.io/v1
kind: RuntimeClass
metadata: {name: cell}
handler: `+handler+`
---
apiVersion: nestor.dev/v1beta1
kind: AgentRole
metadata: {name: guard, namespace: cells}
spec: {systemPrompt: You guard., tools: {allow: [bash]}, approval: {mode: Never}}
`)
		DeferCleanup(func(ctx SpecContext) { c.kubectl(ctx, "delete", "runtimeclass", "cell") })
		rosa := c.person("rosa", "cells")
		start := func(name string, change func(*v1beta1.Workspace)) {
			GinkgoHelper()
			workspace := &v1beta1.Workspace{
				EmptyDir: &v1beta1.EmptyDirSource{}, RuntimeClassName: "cell", NodeSelector: map[string]string{corev1.LabelOSStable: "linux"},
				Tolerations: []v1beta1.Toleration{{Key: "cells", Operator: v1beta1.TolerationExists, Effect: "NoSchedule"}},
			}
			change(workspace)
			Expect(rosa.Create(ctx, &v1beta1.AgentTask{ObjectMeta: rosa.meta(name), Spec: v1beta1.AgentTaskSpec{
				Type: v1beta1.TaskAgent, Role: "guard", Instruction: "Guard.", Workspace: workspace,
			}})).To(Succeed())
		}
		start("allowed", func(*v1beta1.Workspace) {})
		start("other-class", func(w *v1beta1.Workspace) { w.RuntimeClassName = "runc" })
		start("other-node", func(w *v1beta1.Workspace) { w.NodeSelector = map[string]string{corev1.LabelHostname: "vault"} })
		for _, refused := range []string{"other-class", "other-node"} {
			Eventually(rosa.task(refused)).WithContext(ctx).Should(HaveField("Status.Conditions", ContainElement(And(
				HaveField("Reason", v1beta1.ReasonWorkspaceNotAllowed), HaveField("Message", ContainSubstring("runtimeClassName cell"))))), refused)
		}
		Eventually(rosa.task("allowed")).WithContext(ctx).Should(HaveField("Status.Phase", v1beta1.TaskSuccess))
		done, err := rosa.task("allowed")(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(done.Status.Result.Summary + done.Status.Result.Details).To(ContainSubstring("Linux"))
		var pods corev1.PodList
		Expect(c.api.List(ctx, &pods, client.InNamespace("cells"))).To(Succeed())
		Expect(pods.Items).To(HaveLen(1), "the others have none")
		Expect(*pods.Items[0].Spec.RuntimeClassName).To(Equal("cell"))
		Expect(pods.Items[0].Status.Phase).To(Equal(corev1.PodRunning))
		c.kubectl(ctx, "-n", "cells", "delete", "agenttask", "--all")
	})
}
