// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package flows

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

// allowances covers standing approvals of a chat.
func allowances(w *world) {
	It("allows a tool for a chat, until the allowance is revoked", func(ctx context.Context) {
		r := w.newEmptyNamespace(ctx)
		call, path := waitForWrite(ctx, r)
		r.create(ctx, MakeMessage("always").Approve("chat-1", call).Allow(r.namespace+"/*").Obj())
		Eventually(r.message("always")).WithContext(ctx).Should(BeIn(v1beta1.MessageHandled))
		Eventually(r.task("chat-1")).WithContext(ctx).Should(BeIn(v1beta1.TaskSuccess))
		Eventually(w.tools.writeCount(path)).WithContext(ctx).Should(Equal(1))
		Eventually(r.chat).WithContext(ctx).Should(HaveField("Status.Allowances", ConsistOf(And(
			HaveField("Name", "always"), HaveField("Tool", "box__write"), HaveField("User", Not(BeEmpty())),
			HaveField("Arguments", ConsistOf(v1beta1.ArgumentPattern{Name: "path", Pattern: r.namespace + "/*"})),
		))))

		r.sendMessage(ctx, "again", "Delegate to general: Write "+r.namespace+"/second")
		Eventually(r.task("chat-2")).WithContext(ctx).Should(BeIn(v1beta1.TaskSuccess))
		Expect(w.tools.writeCount(r.namespace + "/second")()).To(Equal(1))

		By("asking for what the pattern does not match")
		r.sendMessage(ctx, "outside", "Delegate to general: Write "+r.namespace+"/../outside")
		Eventually(r.task("chat-3")).WithContext(ctx).Should(BeIn(v1beta1.TaskWaiting))

		By("revoking it")
		r.create(ctx, MakeMessage("revoke").Revoke("always").Obj())
		Eventually(r.message("revoke")).WithContext(ctx).Should(BeIn(v1beta1.MessageHandled))
		Eventually(r.chat).WithContext(ctx).Should(HaveField("Status.Allowances", BeEmpty()))
		r.sendMessage(ctx, "third", "Delegate to general: Write "+r.namespace+"/third")
		Eventually(r.task("chat-4")).WithContext(ctx).Should(BeIn(v1beta1.TaskWaiting))
		Expect(w.tools.writeCount(r.namespace + "/third")()).To(BeZero())
	})
}
