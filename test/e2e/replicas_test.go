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
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// lease is the Lease of one of the shards.
const lease = "nestor-shard-00"

// withPostgres are the values of an installation with two replicas that share the work.
var withPostgres = []string{"ledger.postgres.existingSecret=ledger", "replicas=2", "extraArgs={--log-format=text}"}

func replicaSpecs(c *cluster) {
	It("is installed with two replicas", func(ctx SpecContext) {
		c.before = c.everything(ctx)
		c.namespace(ctx, systemNamespace)
		c.serveModel(ctx)
		c.servePostgres(ctx)
		c.install(ctx, withPostgres...)
		c.expectRunning(ctx, 2)
		Expect(c.helm(ctx, "test", release, "--namespace", systemNamespace)).To(ContainSubstring("Succeeded"))
	})

	It("loses and repeats nothing when a replica is killed during a fan-out", func(ctx SpecContext) {
		t := c.startTally(ctx, "led", 48)
		t.waitForDone(ctx, 4)
		before := c.holder(ctx)
		start := time.Now()
		c.kill(ctx, c.holdingPod(ctx, before))
		Eventually(c.holder).WithContext(ctx).ShouldNot(Equal(before))
		AddReportEntry("failover", fmt.Sprintf("another replica held the shard after %.1f s", time.Since(start).Seconds()), ReportEntryVisibilityAlways)
		t.expectOnce(ctx)
		c.expectRunning(ctx, 2)
	})

	It("rolls out new values one replica at a time, with active agents", func(ctx SpecContext) {
		t := c.startTally(ctx, "rolled", 40)
		t.waitForDone(ctx, 4)
		c.upgrade(ctx, append([]string{"podAnnotations.e2e=rolled"}, withPostgres...)...)
		t.expectOnce(ctx)
		c.expectRunning(ctx, 2)
	})

	It("leaves nothing behind", func(ctx SpecContext) {
		c.helm(ctx, "uninstall", release, "--namespace", systemNamespace, "--wait")
		c.kubectl(ctx, "-n", systemNamespace, "delete", "secret", "ledger")
		c.expectNothing(ctx)
	})
}

// holder returns the identity of the replica that holds the shard.
func (c *cluster) holder(ctx context.Context) string {
	GinkgoHelper()
	var held coordinationv1.Lease
	Expect(c.api.Get(ctx, types.NamespacedName{Namespace: systemNamespace, Name: lease}, &held)).To(Succeed())
	if held.Spec.HolderIdentity == nil {
		return ""
	}
	return *held.Spec.HolderIdentity
}

// holdingPod returns the pod of a replica, whose identity begins with the pod's name.
func (c *cluster) holdingPod(ctx context.Context, identity string) corev1.Pod {
	GinkgoHelper()
	for _, pod := range c.operators(ctx) {
		if strings.HasPrefix(identity, pod.Name+"-") {
			return pod
		}
	}
	Fail("no pod has the identity " + identity)
	return corev1.Pod{}
}

// servePostgres runs PostgreSQL in the cluster, and creates the chart's Secret for it.
func (c *cluster) servePostgres(ctx context.Context) {
	GinkgoHelper()
	c.namespace(ctx, "postgres")
	c.apply(ctx, fmt.Sprintf(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: postgres, namespace: postgres}
spec:
  selector: {matchLabels: {app: postgres}}
  template:
    metadata: {labels: {app: postgres}}
    spec:
      automountServiceAccountToken: false
      securityContext: {runAsNonRoot: true, runAsUser: 65532, fsGroup: 65532, seccompProfile: {type: RuntimeDefault}}
      containers:
      - name: postgres
        image: %s/postgres:dev
        ports: [{containerPort: 5432}]
        readinessProbe: {tcpSocket: {port: 5432}, periodSeconds: 1}
        securityContext: {allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: {drop: [ALL]}}
        volumeMounts: [{name: data, mountPath: /data}, {name: tmp, mountPath: /tmp}]
      volumes: [{name: data, emptyDir: {}}, {name: tmp, emptyDir: {}}]
---
apiVersion: v1
kind: Service
metadata: {name: postgres, namespace: postgres}
spec: {selector: {app: postgres}, ports: [{port: 5432}]}
---
apiVersion: v1
kind: Secret
metadata: {name: ledger, namespace: %s}
stringData: {url: "postgres://nestor@postgres.postgres.svc.cluster.local:5432/nestor?sslmode=disable"}
`, c.registry, systemNamespace))
	c.kubectl(ctx, "-n", "postgres", "rollout", "status", "deployment/postgres", "--timeout=2m")
}
