// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package chart_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

var _ = Describe("A release", Ordered, func() {
	helm := func(ctx context.Context, args ...string) string {
		GinkgoHelper()
		output, err := run(ctx, helmPath, append(args, "--namespace", release, "--kubeconfig", cluster.Kubeconfig)...)
		Expect(err).NotTo(HaveOccurred())
		return output
	}

	It("is installed", func(ctx SpecContext) {
		// The suite's cluster already has the definitions.
		helm(ctx, "install", "nestor-crds", "charts/nestor-crds", "--take-ownership")
		helm(ctx, "install", "nestor", "charts/nestor")
		for _, object := range rendered(ctx) {
			if _, hook := object.GetAnnotations()["helm.sh/hook"]; !hook {
				Expect(get(ctx, object)).To(Succeed(), object.GetName())
			}
		}
	})

	It("prints notes with commands that work", func(ctx SpecContext) {
		pasted := regexp.MustCompile(`(?ms)^kubectl apply -f - <<YAML\n(.*?)^YAML$`).FindAllStringSubmatch(helm(ctx, "get", "notes", "nestor"), -1)
		Expect(pasted).To(HaveLen(2), "a provider, and a chat with a message")
		for _, match := range pasted {
			objects, err := parse(match[1])
			Expect(err).NotTo(HaveOccurred())
			for _, object := range objects {
				object.SetNamespace(release)
				expectAccepted(ctx, object)
			}
		}
	})

	It("is upgraded without changing what the operator wrote", func(ctx SpecContext) {
		secret := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Secret"}}
		secret.SetNamespace(release)
		secret.SetName("nestor-history-cert")
		registered := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService"}}
		registered.SetName("v1beta1.history.nestor.dev")
		for object, patch := range map[*unstructured.Unstructured]string{secret: `{"stringData":{"tls.key":"x"}}`, registered: `{"spec":{"caBundle":"eA=="}}`} {
			Expect(api.Patch(ctx, object, client.RawPatch("application/merge-patch+json", []byte(patch)), client.FieldOwner("nestor-operator"))).To(Succeed())
		}
		webhook := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration"}}
		webhook.SetName("nestor")
		patch := `{"webhooks":[{"name":"admission.nestor.dev","clientConfig":{"caBundle":"eA=="}}]}`
		Expect(api.Patch(ctx, webhook, client.RawPatch("application/strategic-merge-patch+json", []byte(patch)), client.FieldOwner("nestor-operator"))).To(Succeed())
		helm(ctx, "upgrade", "nestor", "charts/nestor", "--set", "web.enabled=true")
		Expect(get(ctx, webhook)).To(Succeed())
		Expect(webhook.Object["webhooks"]).To(ConsistOf(HaveKeyWithValue("clientConfig", And(HaveKeyWithValue("caBundle", "eA=="), HaveKey("service")))))
		Expect(get(ctx, secret)).To(Succeed())
		Expect(secret.Object).To(HaveKeyWithValue("data", HaveKey("tls.key")))
		Expect(get(ctx, registered)).To(Succeed())
		Expect(registered.Object).To(HaveKeyWithValue("spec", HaveKeyWithValue("caBundle", "eA==")))
	})

	It("is upgraded to a release with another built-in role", func(ctx SpecContext) {
		chart := filepath.Join(GinkgoT().TempDir(), "nestor")
		Expect(os.CopyFS(chart, os.DirFS(filepath.Join(root, "charts", "nestor")))).To(Succeed())
		roles := filepath.Join(chart, "files", "roles.yaml")
		text, err := os.ReadFile(roles)
		Expect(err).NotTo(HaveOccurred())
		Expect(os.WriteFile(roles, bytes.ReplaceAll(text, []byte("displayName: Coder"), []byte("displayName: Programmer")), 0o600)).To(Succeed())
		helm(ctx, "upgrade", "nestor", chart)
		coder := find(rendered(ctx), "AgentRole", "coder")
		Expect(get(ctx, coder)).To(Succeed())
		Expect(coder.Object).To(HaveKeyWithValue("spec", HaveKeyWithValue("displayName", "Programmer")))
		helm(ctx, "rollback", "nestor")
		Expect(get(ctx, coder)).To(Succeed())
		Expect(coder.Object).To(HaveKeyWithValue("spec", HaveKeyWithValue("displayName", "Coder")))
	})

	It("is uninstalled without the ledger and the definitions", func(ctx SpecContext) {
		installed := rendered(ctx, "web.enabled=true")
		helm(ctx, "uninstall", "nestor")
		helm(ctx, "uninstall", "nestor-crds")
		var left []string
		for _, object := range installed {
			if get(ctx, object) == nil {
				left = append(left, object.GetKind()+" "+object.GetName())
			}
		}
		Expect(left).To(ConsistOf("PersistentVolumeClaim nestor-ledger"))
		definitions, err := render(ctx, "nestor-crds")
		Expect(err).NotTo(HaveOccurred())
		for _, definition := range definitions {
			Expect(get(ctx, definition)).To(Succeed(), definition.GetName())
			Expect(definition.GetDeletionTimestamp()).To(BeNil())
		}
	})
})

func get(ctx context.Context, object *unstructured.Unstructured) error {
	found := object.DeepCopy()
	if err := api.Get(ctx, client.ObjectKeyFromObject(object), found); err != nil {
		return err
	}
	object.Object = found.Object
	return nil
}
