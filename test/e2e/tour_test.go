// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

// demo is the directory of the demo's roles and sample project.
const demo = "../../internal/localmode"

func tourSpecs(c *cluster) {
	It("plays the demo's tour: three agents, a question, an approval, a delegation", func(ctx SpecContext) {
		c.namespace(ctx, "tour", "alice")
		c.kubectl(ctx, "-n", "tour", "apply", "-f", filepath.Join(demo, "roles"))
		c.layOutSample(ctx, "tour", "sample")
		alice := c.person("alice", "tour")
		alice.openChat(ctx, "tour", onClaim("sample"))
		alice.sendMessage(ctx, v1beta1.AgentMessageSpec{Chat: "tour", Content: "Review the sample project from three perspectives."})

		Eventually(alice.posts("tour")).WithContext(ctx).Should(ContainElement(ContainSubstring("Security Reviewer needs input")))
		Eventually(alice.chat("tour")).WithContext(ctx).Should(waitsFor(v1beta1.WaitingApproval))
		Expect(c.inWorkspace(ctx, "tour", "ls docs 2>/dev/null || true")).To(BeEmpty(), "an unapproved write was not run")
		alice.sendMessage(ctx, v1beta1.AgentMessageSpec{Chat: "tour", Content: "Only the shop's own network."})
		chat, err := alice.chat("tour")(ctx)
		Expect(err).NotTo(HaveOccurred())
		for _, waiting := range chat.Status.Waiting {
			if waiting.Kind == v1beta1.WaitingApproval {
				alice.approve(ctx, "tour", waiting.Task, waiting.ToolCall)
			}
		}

		Eventually(alice.posts("tour")).WithContext(ctx).Should(ContainElement(HavePrefix("The review of the sample project:")))
		Eventually(alice.chat("tour")).WithContext(ctx).Should(HaveField("Status.Phase", v1beta1.ChatIdle))
		Expect(alice.tasks("tour")(ctx)).To(And(HaveLen(4), HaveEach(HaveField("Status.Phase", v1beta1.TaskSuccess))))
		Expect(c.inWorkspace(ctx, "tour", "cat docs/usage.md")).To(ContainSubstring("# Using the till"))
	})
}

func onClaim(name string) *v1beta1.Workspace {
	return &v1beta1.Workspace{PersistentVolumeClaim: &v1beta1.ClaimSource{ClaimName: name}}
}

// layOutSample copies the sample project to a volume, with a pod.
func (c *cluster) layOutSample(ctx context.Context, namespace, claim string) {
	GinkgoHelper()
	files := map[string]string{}
	entries, err := os.ReadDir(filepath.Join(demo, "sample"))
	Expect(err).NotTo(HaveOccurred())
	for _, entry := range entries {
		text, err := os.ReadFile(filepath.Join(demo, "sample", entry.Name()))
		Expect(err).NotTo(HaveOccurred())
		files[strings.TrimSuffix(entry.Name(), ".txt")] = string(text)
	}
	Expect(c.api.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: claim}, Data: files})).To(Succeed())
	c.apply(ctx, strings.NewReplacer("NAMESPACE", namespace, "CLAIM", claim, "IMAGE", c.registry+"/nestor-workspace:"+c.tag).Replace(`
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: CLAIM, namespace: NAMESPACE, labels: {nestor.dev/workspace: "true"}}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
---
apiVersion: v1
kind: Pod
metadata: {name: lay-out, namespace: NAMESPACE}
spec:
  restartPolicy: Never
  automountServiceAccountToken: false
  securityContext: {runAsNonRoot: true, runAsUser: 65532, fsGroup: 65532, seccompProfile: {type: RuntimeDefault}}
  containers:
  - name: copy
    image: IMAGE
    command: [bash, -c, "cp -L /sample/* /workspace/"]
    securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}
    volumeMounts: [{name: sample, mountPath: /sample}, {name: files, mountPath: /workspace}]
  volumes:
  - {name: sample, configMap: {name: CLAIM}}
  - {name: files, persistentVolumeClaim: {claimName: CLAIM}}
`))
	c.kubectl(ctx, "-n", namespace, "wait", "pod/lay-out", "--for=jsonpath={.status.phase}=Succeeded", "--timeout=2m")
	c.kubectl(ctx, "-n", namespace, "delete", "pod/lay-out")
}

// inWorkspace runs a command in the pod of the only workspace of a namespace.
func (c *cluster) inWorkspace(ctx context.Context, namespace, command string) string {
	GinkgoHelper()
	pods := strings.Fields(c.kubectl(ctx, "-n", namespace, "get", "pods", "-l", "app.kubernetes.io/name=nestor-workspace", "-o", "name"))
	Expect(pods).To(HaveLen(1))
	return c.kubectl(ctx, "-n", namespace, "exec", pods[0], "-c", "workspace", "--", "bash", "-c", "cd /workspace && "+command)
}
