// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"bytes"
	"context"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	nestor "github.com/nestor-dev/nestor/api/v1beta1"
)

var _ = Describe("kubectl", func() {
	It("prints a chat in columns", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		createExampleObjects(ctx, namespace)
		expectGolden("kubectl-get.golden", withoutAges(kubectl(ctx, "get", "nestor,subagents", "--namespace", namespace)))
		expectGolden("kubectl-get-wide.golden", withoutAges(kubectl(ctx, "get", "nestor,subagents", "--namespace", namespace, "--output=wide")))
		Expect(kubectl(ctx, "get", "nestor", "--namespace", namespace)).NotTo(ContainSubstring("subagent"), "an agent is listed once, as its task")
	})

	It("knows the kinds by short names", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		createExampleObjects(ctx, namespace)
		for short, kind := range map[string]string{
			"achat": "agentchat", "amsg": "agentmessage", "atask": "agenttask", "sagent": "subagent",
			"arole": "agentrole", "atrig": "agenttrigger", "mprov": "modelprovider", "tsrv": "toolserver",
		} {
			names := kubectl(ctx, "get", short, "--namespace", namespace, "--output=name")
			Expect(names).To(HavePrefix(kind+".nestor.dev/"), short)
		}
	})

	It("explains the spec of a task in order", func(ctx SpecContext) {
		expectGolden("kubectl-explain.golden", kubectl(ctx, "explain", "agenttask.spec", "--recursive"))
	})

	It("explains every field of every kind", func(ctx SpecContext) {
		for _, definition := range definitions() {
			for _, part := range []string{"spec", "status"} {
				explained := unwrapped(kubectl(ctx, "explain", definition.Spec.Names.Singular+"."+part))
				for name, property := range definition.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties[part].Properties {
					Expect(property.Description).NotTo(BeEmpty(), "%s.%s", part, name)
					Expect(explained).To(ContainSubstring(unwrapped(property.Description)), definition.Spec.Names.Kind)
				}
			}
		}
	})

	It("waits until a task has succeeded", func(ctx SpecContext) {
		task := &nestor.AgentTask{
			ObjectMeta: metav1.ObjectMeta{Namespace: newNamespace(ctx), Name: "nightly-review"},
			Spec:       nestor.AgentTaskSpec{Type: nestor.TaskAgent, Role: "reviewer", Instruction: "Review the commits of today."},
		}
		Expect(api.Create(ctx, task)).To(Succeed())

		var out bytes.Buffer
		wait := kubectlCommand(ctx, "wait", "--for=condition=Succeeded", "--timeout=3m", "--namespace", task.Namespace, "agenttask/nightly-review")
		wait.Stdout, wait.Stderr = &out, &out
		Expect(wait.Start()).To(Succeed())
		task.Status.Phase = nestor.TaskSuccess
		task.Status.Conditions = condition(nestor.ConditionSucceeded, metav1.ConditionTrue, nestor.ReasonSuccess)
		Expect(api.Status().Update(ctx, task)).To(Succeed())
		Expect(wait.Wait()).To(Succeed(), out.String())
		Expect(out.String()).To(ContainSubstring("condition met"))
	})

	It("waits until a task has failed", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		createExampleObjects(ctx, namespace)
		Expect(kubectl(ctx, "wait", "--for=condition=Succeeded=False", "--timeout=3m", "--namespace", namespace, "agenttask/sum")).
			To(ContainSubstring("condition met"))
	})

	It("applies a role with the hashed name of its skill", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		kubectl(ctx, "apply", "--validate=strict", "--namespace", namespace, "--kustomize", filepath.Join(samplesDir, "skills"))
		var role nestor.AgentRole
		Expect(api.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "release-editor"}, &role)).To(Succeed())
		Expect(role.Spec.Skills).To(ConsistOf(HaveField("ConfigMapName", MatchRegexp("^skill-release-notes-[a-z0-9]{10}$"))))
		var config corev1.ConfigMap
		Expect(api.Get(ctx, client.ObjectKey{Namespace: namespace, Name: role.Spec.Skills[0].ConfigMapName}, &config)).To(Succeed())
		Expect(config.Data).To(And(HaveKey("SKILL.md"), HaveKey("examples__good.md")))
	})

	It("applies all samples at once", func(ctx SpecContext) {
		out := kubectl(ctx, "apply", "--validate=strict", "--namespace", newNamespace(ctx), "--kustomize", samplesDir)
		Expect(strings.Count(out, "created")).To(Equal(len(examples(samplesDir))))
	})
})

func kubectlCommand(ctx context.Context, arguments ...string) *exec.Cmd {
	return exec.CommandContext(ctx, cluster.Kubectl, append([]string{"--kubeconfig", cluster.Kubeconfig}, arguments...)...)
}

// kubectl returns the output of the command, and fails the spec if the command fails.
func kubectl(ctx context.Context, arguments ...string) string {
	GinkgoHelper()
	out, err := kubectlCommand(ctx, arguments...).CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), string(out))
	return string(out)
}

// age is the last column of every table.
var age = regexp.MustCompile(`(?m)\b(\d+m)?\d+[sm]$`)

func withoutAges(table string) string { return age.ReplaceAllString(table, "0s") }

// unwrapped joins text into one line, to compare it regardless of line breaks.
func unwrapped(text string) string { return strings.Join(strings.Fields(text), " ") }
