// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// charts returns the chart and that of the definitions: those of the release, or of this directory.
func (c *cluster) charts() (nestor, crds string) {
	if c.release == "" {
		return "../../charts/nestor", "../../charts/nestor-crds"
	}
	return filepath.Join(c.release, "nestor-"+c.tag+".tgz"), filepath.Join(c.release, "nestor-crds-"+c.tag+".tgz")
}

// modelURL is the address of the scripted model for pods.
const modelURL = "http://scripted-model." + modelNamespace + ".svc.cluster.local:8089/v1"

// values returns the Helm values of every installation here, with more added.
func (c *cluster) values(more ...string) []string {
	set := []string{
		"image.registry=" + c.registry, "workspace.privateGitServers={git." + forge + ".svc}",
		"modelProvider.create=true", "modelProvider.baseURL=" + modelURL, "modelProvider.defaultModel=scripted",
	}
	if c.release == "" { // the charts of a release refer to its images by digest
		set = append(set, "image.repository="+operator, "image.tag="+c.tag, "workspace.image.repository=nestor-workspace", "gateway.image.repository=nestor-gateway")
	}
	var args []string
	for _, value := range slices.Concat(set, allowedPlacements, more) {
		args = append(args, "--set", value)
	}
	return args
}

// install installs both charts and returns Helm's output.
func (c *cluster) install(ctx context.Context, more ...string) string {
	GinkgoHelper()
	chart, crds := c.charts()
	c.helm(ctx, "install", definitions, crds, "--namespace", systemNamespace, "--wait")
	args := []string{"install", release, chart, "--namespace", systemNamespace, "--wait", "--timeout", "5m"}
	return c.helm(ctx, append(args, c.values(more...)...)...)
}

func installSpecs(c *cluster) {
	It("is installed by its charts in a namespace for restricted pods", func(ctx SpecContext) {
		c.before = c.everything(ctx)
		c.namespace(ctx, systemNamespace)
		c.serveModel(ctx)
		notes := c.install(ctx, "extraArgs={--log-format=text}")
		Expect(notes).To(And(ContainSubstring("is installed"), ContainSubstring("kubectl nestor chat"), ContainSubstring("helm test")))
		c.expectRunning(ctx, 1)
	})

	It("passes helm test", func(ctx SpecContext) {
		Expect(c.helm(ctx, "test", release, "--namespace", systemNamespace)).To(MatchRegexp(`(?s)nestor-test.*Phase:\s+Succeeded`))
	})

	if os.Getenv("E2E_RELEASE") != "" {
		It("runs the images of the release by their digests", func(ctx SpecContext) {
			for _, pod := range c.operators(ctx) {
				Expect(pod.Spec.Containers).To(HaveEach(HaveField("Image", HavePrefix(c.registry+"/nestor-dev/nestor-operator@sha256:"))))
			}
		})
	}

	It("runs with minimal permissions", func(ctx SpecContext) {
		for _, pod := range c.operators(ctx) {
			spec := pod.Spec
			Expect(*spec.SecurityContext.RunAsNonRoot).To(BeTrue())
			for _, container := range spec.Containers {
				Expect(*container.SecurityContext.ReadOnlyRootFilesystem).To(BeTrue())
				Expect(container.SecurityContext.Capabilities.Drop).To(ContainElement(corev1.Capability("ALL")))
			}
		}
	})
}

// gatewaySpecs turns on the gateway, which has pods and permissions of its own.
func gatewaySpecs(c *cluster) {
	It("serves the gateway in pods of its own", func(ctx SpecContext) {
		chart, _ := c.charts()
		c.helm(ctx, append([]string{"upgrade", release, chart, "--namespace", systemNamespace, "--wait", "--timeout", "5m"}, c.values("gateway.enabled=true", "web.enabled=true")...)...)
		root := "/api/v1/namespaces/" + systemNamespace + "/services/"
		Expect(c.kubectl(ctx, "get", "--raw", root+"https:nestor-gateway:https/proxy/")).To(ContainSubstring(`"gateway":"nestor"`))
		Expect(c.kubectl(ctx, "get", "--raw", root+"https:nestor-gateway:https/proxy/.well-known/jwks.json")).To(ContainSubstring(`"ES256"`), "the keys come from the operator")
		Expect(c.kubectl(ctx, "get", "--raw", root+"nestor-web:http/proxy/")).To(ContainSubstring("<html"))
		account := "system:serviceaccount:" + systemNamespace + ":nestor-gateway"
		Expect(c.kubectl(ctx, "auth", "can-i", "create", "tokenreviews", "--as", account)).To(ContainSubstring("yes"))
		for _, pod := range c.operators(ctx) {
			for _, container := range pod.Spec.Containers {
				Expect(container.Ports).NotTo(ContainElement(HaveField("Name", BeElementOf("gateway", "web"))))
			}
		}
	})
}

func (c *cluster) serveModel(ctx context.Context) {
	GinkgoHelper()
	c.namespace(ctx, modelNamespace)
	c.apply(ctx, fmt.Sprintf(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: scripted-model, namespace: %[1]s}
spec:
  selector: {matchLabels: {app: scripted-model}}
  template:
    metadata: {labels: {app: scripted-model}}
    spec:
      automountServiceAccountToken: false
      securityContext: {runAsNonRoot: true, seccompProfile: {type: RuntimeDefault}}
      containers:
      - name: model
        image: %[2]s/nestor-scripted-model:%[3]s
        args: [--listen=:8089, --record=20000]
        ports: [{containerPort: 8089}]
        readinessProbe: {httpGet: {path: /v1/models, port: 8089}, periodSeconds: 1}
        securityContext: {allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: {drop: [ALL]}}
---
apiVersion: v1
kind: Service
metadata: {name: scripted-model, namespace: %[1]s}
spec:
  selector: {app: scripted-model}
  ports: [{name: http, port: 8089}]
`, modelNamespace, c.registry, c.tag))
	c.kubectl(ctx, "-n", modelNamespace, "rollout", "status", "deployment/scripted-model", "--timeout=2m")
}

func (c *cluster) operators(ctx context.Context) []corev1.Pod {
	GinkgoHelper()
	var pods corev1.PodList
	Expect(c.api.List(ctx, &pods, client.InNamespace(systemNamespace), client.MatchingLabels{"app.kubernetes.io/component": "operator"})).To(Succeed())
	return pods.Items
}

// expectRunning waits until the given number of operators is ready.
func (c *cluster) expectRunning(ctx context.Context, replicas int) {
	GinkgoHelper()
	c.kubectl(ctx, "-n", systemNamespace, "rollout", "status", "deployment/"+operator, "--timeout=3m")
	Eventually(c.operators).WithContext(ctx).Should(And(HaveLen(replicas), HaveEach(HaveField("Status.Phase", corev1.PodRunning))))
}
