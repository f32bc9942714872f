// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
)

func crashSpecs(c *cluster) {
	It("loses and repeats nothing when the operator is killed twice during a fan-out", func(ctx SpecContext) {
		t := c.startTally(ctx, "killed", 48)
		t.waitForDone(ctx, 4)
		By("SIGKILL")
		c.kill(ctx, c.operators(ctx)[0])
		t.waitForDone(ctx, 20)
		By("a forced deletion of the pod")
		c.deleteByForce(ctx, c.operators(ctx)[0])
		t.expectOnce(ctx)
		c.expectRunning(ctx, 1)
	})
}

// kill kills an operator like the OOM killer, and waits until its container has ended. On a given cluster it can only
// delete the pod.
func (c *cluster) kill(ctx context.Context, pod corev1.Pod) {
	GinkgoHelper()
	if c.node == nil {
		c.deleteByForce(ctx, pod)
		return
	}
	Expect(c.node.Kill(ctx, string(pod.UID), operator)).To(Succeed())
	Eventually(c.operators).WithContext(ctx).Should(ContainElement(And(
		HaveField("Name", pod.Name), HaveField("Status.ContainerStatuses", ContainElement(HaveField("RestartCount", BeNumerically(">", 0)))))))
}

func (c *cluster) deleteByForce(ctx context.Context, pod corev1.Pod) {
	GinkgoHelper()
	c.kubectl(ctx, "-n", systemNamespace, "delete", "pod", pod.Name, "--grace-period=0", "--force")
}
