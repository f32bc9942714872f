// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package flows

import (
	"encoding/base64"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

// toolResults covers how results of tools reach models.
func toolResults(w *world) {
	Describe("What a tool returns", func() {
		It("is an image for the model of a sub-agent", func(ctx SpecContext) {
			r := w.newNamespace(ctx)
			r.addToolServer(ctx, MakeToolServer("box", w.tools.URL))
			r.create(ctx, MakeTask("work", "Show the picture").Obj())
			Eventually(r.task("work")).WithContext(ctx).Should(BeIn(v1beta1.TaskSuccess))
			Expect(must(ctx, r.task("work")).Status.Result.Summary).To(Equal("I see the picture."))
		})

		It("is an image for the orchestrator, which reads the complete output with read_result", func(ctx SpecContext) {
			r := w.newNamespace(ctx)
			r.addToolServer(ctx, MakeToolServer("box", w.tools.URL))
			r.create(ctx, MakeRole("orchestrator").Allow("*").Obj())
			r.openChat(ctx)
			r.sendMessage(ctx, "show", "Show the picture")
			Eventually(r.posts).WithContext(ctx).Should(HavePost(WithText("I see the picture."), ReplyingTo("show")))
			r.sendMessage(ctx, "flood", "Flood and read on")
			Eventually(r.posts).WithContext(ctx).Should(HavePost(WithText("of 600000"), ReplyingTo("flood")))
		})

		It("is a text for a model that takes no images", func(ctx SpecContext) {
			r := w.newNamespace(ctx)
			r.addToolServer(ctx, MakeToolServer("box", w.tools.URL))
			provider, blind := MakeProvider("blind", w.ModelURL).Obj(), false
			provider.Spec.Models = []v1beta1.ModelInfo{{Name: "scripted", SupportsImages: &blind}}
			r.create(ctx, provider, MakeTask("work", "Show the picture").Provider("blind").Obj())
			Eventually(r.task("work")).WithContext(ctx).Should(BeIn(v1beta1.TaskSuccess))
			Expect(must(ctx, r.task("work")).Status.Result.Summary).To(ContainSubstring("image/png"))
			for _, request := range must(ctx, w.requestsOf(r.agent(ctx, "work").UID)) {
				Expect(request.Body.Messages).NotTo(ContainElement(HaveField("Content", ContainSubstring(base64.StdEncoding.EncodeToString(picture)))))
			}
		})

		It("is preceded by its progress, in the status of the agent and of a task of type Tool", func(ctx SpecContext) {
			r := w.newNamespace(ctx)
			r.addToolServer(ctx, MakeToolServer("box", w.tools.URL))
			gate := r.namespace + "-progress"
			r.create(ctx, MakeTask("work", "Wait at "+gate).Obj(), MakeToolTask("tool", "box__wait", `{"gate":"`+gate+`"}`).Obj())
			Eventually(r.sub("work")).WithContext(ctx).Should(HaveField("Status.ToolCalls", ContainElement(HaveField("Progress", "3/10 at the gate"))))
			Eventually(r.task("tool")).WithContext(ctx).Should(HaveField("Status.Progress", "3/10 at the gate"))
			w.tools.open(gate)
			Eventually(r.task("work")).WithContext(ctx).Should(BeIn(v1beta1.TaskSuccess))
			Eventually(r.task("tool")).WithContext(ctx).Should(And(BeIn(v1beta1.TaskSuccess), HaveField("Status.Progress", BeEmpty())))
		})
	})
}
