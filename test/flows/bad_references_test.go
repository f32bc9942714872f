// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package flows

import (
	"context"
	"net/http"
	"net/http/httptest"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/test/stack"
)

// unusedAddress is an address without a listener.
const unusedAddress = "http://127.0.0.1:1/v1"

func badReferences(w *world) []TableEntry {
	return []TableEntry{
		Entry("a chat whose role does not exist", badInput(func(ctx context.Context, r *testNamespace) {
			Expect(w.Provider(ctx, r.namespace, "default")).To(Succeed())
			waitsForMissing(v1beta1.ReasonRoleNotFound, `Create the AgentRole "host"`, objectList(MakeChat("chat").Role("host").Obj()), objectList(MakeRole("host").Prompt("You are kind.").Obj()))(ctx, r)
		})),
		Entry("a chat whose provider does not exist", badInput(func(ctx context.Context, r *testNamespace) {
			waitsForMissing(v1beta1.ReasonProviderNotFound, `Create the ModelProvider "fast"`, objectList(MakeChat("chat").Provider("fast").Obj()), objectList(MakeProvider("fast", w.ModelURL).Obj()))(ctx, r)
		})),
		Entry("a chat whose provider is in another namespace", badInput(func(ctx context.Context, r *testNamespace) {
			other := w.newEmptyNamespace(ctx)
			other.create(ctx, MakeProvider("default", w.ModelURL).Shared().Obj())
			waitsForMissing(v1beta1.ReasonProviderNotFound, "in the namespace "+r.namespace, objectList(MakeChat("chat").Obj()), objectList(MakeProvider("default", w.ModelURL).Obj()))(ctx, r)
		})),
		Entry("a chat whose provider the operator's namespace does not share", badInput(func(ctx context.Context, r *testNamespace) {
			private := MakeProvider("private-"+r.namespace, w.ModelURL).Obj()
			private.Namespace = stack.OperatorNamespace
			Expect(w.API.Create(ctx, private)).To(Succeed())
			waitsForMissing(v1beta1.ReasonProviderNotFound, "allowedNamespaces", objectList(MakeChat("chat").Provider(private.Name).Obj()), nil, func(ctx context.Context, r *testNamespace) {
				system := &testNamespace{world: w, namespace: stack.OperatorNamespace}
				change(ctx, r, system.provider(private.Name), func(p *v1beta1.ModelProvider) {
					p.Spec.AllowedNamespaces = &v1beta1.AllowedNamespaces{From: v1beta1.NamespacesAll}
				})
			})(ctx, r)
		})),
		Entry("a chat without a model", badInput(func(ctx context.Context, r *testNamespace) {
			waitsForMissing(v1beta1.ReasonModelNotSet, "Name a model", objectList(MakeProvider("default", w.ModelURL).NoModel().Obj(), MakeChat("chat").Obj()),
				objectList(MakeRole("orchestrator").Model("scripted").Obj()))(ctx, r)
		})),
		Entry("a chat whose provider's key does not exist", badInput(func(ctx context.Context, r *testNamespace) {
			waitsForMissing(v1beta1.ReasonSecretNotFound, `Create the Secret "keys"`, objectList(MakeProvider("default", w.ModelURL).Key("keys", "model").Obj(), MakeChat("chat").Obj()),
				objectList(MakeSecret("keys", "model", "k")))(ctx, r)
		})),
		Entry("a chat whose provider's Secret has another key", badInput(func(ctx context.Context, r *testNamespace) {
			keys := MakeSecret("keys", "other", "k")
			waitsForMissing(v1beta1.ReasonSecretNotFound, `under the key "model"`, objectList(keys, MakeProvider("default", w.ModelURL).Key("keys", "model").Obj(), MakeChat("chat").Obj()),
				nil, func(ctx context.Context, r *testNamespace) {
					keys = MakeSecret("keys", "model", "k")
					keys.Namespace = r.namespace
					Expect(w.API.Update(ctx, keys)).To(Succeed())
				})(ctx, r)
		})),
		Entry("a chat with a budget whose model has no price", badInput(func(ctx context.Context, r *testNamespace) {
			free := MakeProvider("default", w.ModelURL).Obj()
			waitsForMissing(v1beta1.ReasonPriceUnknown, "add the prices of scripted", objectList(free, MakeChat("chat").MaxCost(1_000_000).Obj()), nil, func(ctx context.Context, r *testNamespace) {
				change(ctx, r, r.provider("default"), func(p *v1beta1.ModelProvider) {
					p.Spec.Models = MakeProvider("", "").Price("scripted", 1).Obj().Spec.Models
				})
			})(ctx, r)
		})),
		Entry("a chat whose role has its prompt from a ConfigMap that does not exist", badInput(func(ctx context.Context, r *testNamespace) {
			waitsForMissing(v1beta1.ReasonConfigMapNotFound, `Create the ConfigMap "prompts"`, objectList(MakeProvider("default", w.ModelURL).Obj(),
				MakeRole("host").PromptFrom("prompts", "host").Obj(), MakeChat("chat").Role("host").Obj()), objectList(MakeConfigMap("prompts", "host", "You are kind.")))(ctx, r)
		})),
		Entry("a chat whose role allows the tools of a server that does not exist", badInput(func(ctx context.Context, r *testNamespace) {
			waitsForMissing(v1beta1.ReasonToolServerNotFound, `Create the ToolServer "box"`, objectList(MakeProvider("default", w.ModelURL).Obj(),
				MakeRole("orchestrator").Allow("box__*").Obj(), MakeChat("chat").Obj()), objectList(MakeToolServer("box", w.tools.URL)))(ctx, r)
		})),
		Entry("a chat whose role allows the tools of a server that does not answer", badInput(func(ctx context.Context, r *testNamespace) {
			waitsForMissing(v1beta1.ReasonToolServerNotReady, `The ToolServer "box" is not ready`, objectList(MakeProvider("default", w.ModelURL).Obj(),
				MakeRole("orchestrator").Allow("box__*").Obj(), MakeToolServer("box", unusedAddress), MakeChat("chat").Obj()), nil, func(ctx context.Context, r *testNamespace) {
				change(ctx, r, r.toolServer("box"), func(s *v1beta1.ToolServer) { s.Spec.URL = w.tools.URL })
			})(ctx, r)
		})),
		Entry("a role that delegates to one that does not exist", badInput(func(ctx context.Context, r *testNamespace) {
			Expect(w.Provider(ctx, r.namespace, "default")).To(Succeed())
			r.create(ctx, MakeRole("orchestrator").Delegates("general", "ghost").Obj())
			r.openChat(ctx)
			Eventually(r.role("orchestrator")).WithContext(ctx).Should(HaveStatus(And(ContainSubstring("False RoleNotFound"), ContainSubstring("ghost"), ContainSubstring("Create them or remove them from the list."))))
			r.sendMessage(ctx, "hello", "Greet Alice")
			Eventually(r.posts).WithContext(ctx).Should(HavePost(WithText("Hello, Alice!")))
		})),
		Entry("a role with an invalid input schema", badInput(func(ctx context.Context, r *testNamespace) {
			r.create(ctx, MakeRole("helper").Prompt("You help.").AsTool("Help", `{"type":"no such type"}`).Obj())
			Eventually(r.role("helper")).WithContext(ctx).Should(HaveStatus(And(ContainSubstring("False InvalidSpec"), ContainSubstring("inputSchema"))))
		})),
		Entry("a provider without a listener", badInput(func(ctx context.Context, r *testNamespace) {
			r.create(ctx, MakeProvider("default", unusedAddress).Retries(0).Obj())
			Eventually(r.provider("default")).WithContext(ctx).Should(HaveStatus(ContainSubstring("False Unreachable")))
			r.openChat(ctx)
			r.sendMessage(ctx, "hello", "Greet Alice")
			Eventually(r.chat).WithContext(ctx).Should(BeDone(v1beta1.ChatIdle, v1beta1.ReasonModelError))
			failed := time.Now().Unix()
			Eventually(func() int64 { return time.Now().Unix() }).WithContext(ctx).Should(BeNumerically(">", failed)) // conditions have whole seconds
			change(ctx, r, r.provider("default"), func(p *v1beta1.ModelProvider) { p.Spec.BaseURL = w.ModelURL })
			Eventually(r.chat).WithContext(ctx).Should(BeDone(v1beta1.ChatIdle, v1beta1.ReasonReady, "The model provider works again."))
		})),
		Entry("a provider that refuses the key", badInput(func(ctx context.Context, r *testNamespace) {
			refuses := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				http.Error(w, `{"error":{"message":"Incorrect API key provided.","code":"invalid_api_key"}}`, http.StatusUnauthorized)
			}))
			DeferCleanup(refuses.Close)
			r.create(ctx, MakeSecret("keys", "model", "sk-very-secret"), MakeProvider("default", refuses.URL+"/v1").Key("keys", "model").Obj())
			Eventually(r.provider("default")).WithContext(ctx).Should(HaveStatus(ContainSubstring("False Unauthorized")))
			r.create(ctx, MakeTask("work", "Submit hello").Obj())
			Eventually(r.task("work")).WithContext(ctx).Should(BeDone(v1beta1.TaskFailed, string(v1beta1.ErrorModel), "Incorrect API key provided."))
			Expect(r.dump(ctx)).NotTo(ContainSubstring("sk-very-secret"))
		})),
		Entry("a tool server whose header's Secret does not exist", badInput(func(ctx context.Context, r *testNamespace) {
			server := MakeToolServer("box", w.tools.URL)
			server.Spec.HeadersFrom = []v1beta1.HeaderSource{{Name: "Authorization", SecretKeyRef: v1beta1.SecretKeyRef{Name: "keys", Key: "box"}}}
			r.create(ctx, server)
			Eventually(r.toolServer("box")).WithContext(ctx).Should(HaveStatus(And(ContainSubstring("False SecretNotFound"), ContainSubstring(`Create the Secret "keys"`))))
			r.create(ctx, MakeSecret("keys", "box", "Bearer x"))
			Eventually(r.toolServer("box")).WithContext(ctx).Should(HaveStatus(ContainSubstring("True Ready")))
		})),
		Entry("a tool server that does not speak MCP", badInput(func(ctx context.Context, r *testNamespace) {
			r.create(ctx, MakeToolServer("box", w.ModelURL))
			Eventually(r.toolServer("box")).WithContext(ctx).Should(HaveStatus(ContainSubstring("False ")))
		})),
	}
}
