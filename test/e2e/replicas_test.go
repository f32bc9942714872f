// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/json"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nestor-dev/nestor/internal/health"
)

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
		victim := c.operators(ctx)[0]
		Expect(c.owners(ctx)).To(HaveKey(victim.Name))
		c.kill(ctx, victim)
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

// owners returns how many shards each live replica owns, by the names of their pods, as the heartbeat has it.
func (c *cluster) owners(ctx context.Context) map[string]int {
	GinkgoHelper()
	var beat coordinationv1.Lease
	Expect(c.api.Get(ctx, types.NamespacedName{Namespace: systemNamespace, Name: health.LeaseName}, &beat)).To(Succeed())
	var found health.Installation
	Expect(json.Unmarshal([]byte(beat.Annotations[health.AnnotationReplicas]), &found)).To(Succeed())
	owners := map[string]int{}
	for _, r := range found.Replicas {
		if r.Expired == 0 && r.Held > 0 {
			owners[r.Name] = r.Held
		}
	}
	return owners
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
