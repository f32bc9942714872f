// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package flows

import (
	"context"
	"net/http"
	"net/http/httptest"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/nestor-dev/nestor/api/v1alpha1"
	"github.com/nestor-dev/nestor/test/stack"
)

// nowhere is an address without a listener.
const nowhere = "http://127.0.0.1:1/v1"

// badReferences are references to missing objects.
func badReferences(w *world) []TableEntry {
	return []TableEntry{
		Entry("a chat whose role does not exist", mischief(func(ctx context.Context, r *room) {
			Expect(w.Provider(ctx, r.namespace, "default")).To(Succeed())
			missing(v1alpha1.ReasonRoleNotFound, `Create the AgentRole "host"`, several(MakeChat("chat").Role("host").Obj()), several(MakeRole("host").Prompt("You are kind.").Obj()))(ctx, r)
		})),
		Entry("a chat whose provider does not exist", mischief(func(ctx context.Context, r *room) {
			missing(v1alpha1.ReasonProviderNotFound, `Create the ModelProvider "fast"`, several(MakeChat("chat").Provider("fast").Obj()), several(MakeProvider("fast", w.ModelURL).Obj()))(ctx, r)
		})),
		Entry("a chat whose provider is in another namespace", mischief(func(ctx context.Context, r *room) {
			other := w.newEmptyRoom(ctx)
			other.create(ctx, MakeProvider("default", w.ModelURL).Shared().Obj())
			missing(v1alpha1.ReasonProviderNotFound, "in the namespace "+r.namespace, several(MakeChat("chat").Obj()), several(MakeProvider("default", w.ModelURL).Obj()))(ctx, r)
		})),
		Entry("a chat whose provider the operator's namespace does not share", mischief(func(ctx context.Context, r *room) {
			private := MakeProvider("private-"+r.namespace, w.ModelURL).Obj()
			private.Namespace = stack.OperatorNamespace
			Expect(w.API.Create(ctx, private)).To(Succeed())
			missing(v1alpha1.ReasonProviderNotFound, "allowedNamespaces", several(MakeChat("chat").Provider(private.Name).Obj()), nil, func(ctx context.Context, r *room) {
				system := &room{world: w, namespace: stack.OperatorNamespace}
				change(ctx, r, system.provider(private.Name), func(p *v1alpha1.ModelProvider) {
					p.Spec.AllowedNamespaces = &v1alpha1.AllowedNamespaces{From: v1alpha1.NamespacesAll}
				})
			})(ctx, r)
		})),
		Entry("a chat without a model", mischief(func(ctx context.Context, r *room) {
			missing(v1alpha1.ReasonModelNotSet, "Name a model", several(MakeProvider("default", w.ModelURL).NoModel().Obj(), MakeChat("chat").Obj()),
				several(MakeRole("orchestrator").Model("scripted").Obj()))(ctx, r)
		})),
		Entry("a chat whose provider's key does not exist", mischief(func(ctx context.Context, r *room) {
			missing(v1alpha1.ReasonSecretNotFound, `Create the Secret "keys"`, several(MakeProvider("default", w.ModelURL).Key("keys", "model").Obj(), MakeChat("chat").Obj()),
				several(MakeSecret("keys", "model", "k")))(ctx, r)
		})),
		Entry("a chat whose provider's Secret has another key", mischief(func(ctx context.Context, r *room) {
			keys := MakeSecret("keys", "other", "k")
			missing(v1alpha1.ReasonSecretNotFound, `under the key "model"`, several(keys, MakeProvider("default", w.ModelURL).Key("keys", "model").Obj(), MakeChat("chat").Obj()),
				nil, func(ctx context.Context, r *room) {
					keys = MakeSecret("keys", "model", "k")
					keys.Namespace = r.namespace
					Expect(w.API.Update(ctx, keys)).To(Succeed())
				})(ctx, r)
		})),
		Entry("a chat with a budget whose model has no price", mischief(func(ctx context.Context, r *room) {
			free := MakeProvider("default", w.ModelURL).Obj()
			missing(v1alpha1.ReasonPriceUnknown, "add the prices of scripted", several(free, MakeChat("chat").MaxCost(1_000_000).Obj()), nil, func(ctx context.Context, r *room) {
				change(ctx, r, r.provider("default"), func(p *v1alpha1.ModelProvider) {
					p.Spec.Models = MakeProvider("", "").Price("scripted", 1).Obj().Spec.Models
				})
			})(ctx, r)
		})),
		Entry("a chat whose role has its prompt from a ConfigMap that does not exist", mischief(func(ctx context.Context, r *room) {
			missing(v1alpha1.ReasonConfigMapNotFound, `Create the ConfigMap "prompts"`, several(MakeProvider("default", w.ModelURL).Obj(),
				MakeRole("host").PromptFrom("prompts", "host").Obj(), MakeChat("chat").Role("host").Obj()), several(MakeConfigMap("prompts", "host", "You are kind.")))(ctx, r)
		})),
		Entry("a chat whose role allows the tools of a server that does not exist", mischief(func(ctx context.Context, r *room) {
			missing(v1alpha1.ReasonToolServerNotFound, `Create the ToolServer "box"`, several(MakeProvider("default", w.ModelURL).Obj(),
				MakeRole("orchestrator").Allow("box__*").Obj(), MakeChat("chat").Obj()), several(MakeToolServer("box", w.tools.URL)))(ctx, r)
		})),
		Entry("a chat whose role allows the tools of a server that does not answer", mischief(func(ctx context.Context, r *room) {
			missing(v1alpha1.ReasonToolServerNotReady, `The ToolServer "box" is not ready`, several(MakeProvider("default", w.ModelURL).Obj(),
				MakeRole("orchestrator").Allow("box__*").Obj(), MakeToolServer("box", nowhere), MakeChat("chat").Obj()), nil, func(ctx context.Context, r *room) {
				change(ctx, r, r.toolServer("box"), func(s *v1alpha1.ToolServer) { s.Spec.URL = w.tools.URL })
			})(ctx, r)
		})),
		Entry("a role that delegates to one that does not exist", mischief(func(ctx context.Context, r *room) {
			Expect(w.Provider(ctx, r.namespace, "default")).To(Succeed())
			r.create(ctx, MakeRole("orchestrator").Delegates("general", "ghost").Obj())
			r.openChat(ctx)
			Eventually(r.role("orchestrator")).WithContext(ctx).Should(HaveStanding(And(ContainSubstring("False RoleNotFound"), ContainSubstring("ghost"), ContainSubstring("Create them, or leave them out."))))
			r.say(ctx, "hello", "Greet Alice")
			Eventually(r.posts).WithContext(ctx).Should(HavePost(Saying("Hello, Alice!")))
		})),
		Entry("a role with an invalid input schema", mischief(func(ctx context.Context, r *room) {
			r.create(ctx, MakeRole("helper").Prompt("You help.").AsTool("Help", `{"type":"no such type"}`).Obj())
			Eventually(r.role("helper")).WithContext(ctx).Should(HaveStanding(And(ContainSubstring("False InvalidSpec"), ContainSubstring("inputSchema"))))
		})),
		Entry("a provider without a listener", mischief(func(ctx context.Context, r *room) {
			r.create(ctx, MakeProvider("default", nowhere).Retries(0).Obj())
			Eventually(r.provider("default")).WithContext(ctx).Should(HaveStanding(ContainSubstring("False Unreachable")))
			r.openChat(ctx)
			r.say(ctx, "hello", "Greet Alice")
			Eventually(r.chat).WithContext(ctx).Should(BeDone(v1alpha1.ChatIdle, v1alpha1.ReasonModelError))
		})),
		Entry("a provider that refuses the key", mischief(func(ctx context.Context, r *room) {
			refuses := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				http.Error(w, `{"error":{"message":"Incorrect API key provided.","code":"invalid_api_key"}}`, http.StatusUnauthorized)
			}))
			DeferCleanup(refuses.Close)
			r.create(ctx, MakeSecret("keys", "model", "sk-very-secret"), MakeProvider("default", refuses.URL+"/v1").Key("keys", "model").Obj())
			Eventually(r.provider("default")).WithContext(ctx).Should(HaveStanding(ContainSubstring("False Unauthorized")))
			r.create(ctx, MakeTask("work", "Submit hello").Obj())
			Eventually(r.task("work")).WithContext(ctx).Should(BeDone(v1alpha1.TaskFailed, string(v1alpha1.ErrorModel), "Incorrect API key provided."))
			Expect(r.dump(ctx)).NotTo(ContainSubstring("sk-very-secret"))
		})),
		Entry("a tool server whose header's Secret does not exist", mischief(func(ctx context.Context, r *room) {
			server := MakeToolServer("box", w.tools.URL)
			server.Spec.HeadersFrom = []v1alpha1.HeaderSource{{Name: "Authorization", SecretKeyRef: v1alpha1.SecretKeyRef{Name: "keys", Key: "box"}}}
			r.create(ctx, server)
			Eventually(r.toolServer("box")).WithContext(ctx).Should(HaveStanding(And(ContainSubstring("False SecretNotFound"), ContainSubstring(`Create the Secret "keys"`))))
			r.create(ctx, MakeSecret("keys", "box", "Bearer x"))
			Eventually(r.toolServer("box")).WithContext(ctx).Should(HaveStanding(ContainSubstring("True Ready")))
		})),
		Entry("a tool server that does not speak MCP", mischief(func(ctx context.Context, r *room) {
			r.create(ctx, MakeToolServer("box", w.ModelURL))
			Eventually(r.toolServer("box")).WithContext(ctx).Should(HaveStanding(ContainSubstring("False ")))
		})),
	}
}
