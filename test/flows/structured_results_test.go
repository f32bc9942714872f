// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package flows

import (
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

const verdictSchema = `{"type":"object","required":["verdict"],"additionalProperties":false,
	"properties":{"verdict":{"$ref":"#/$defs/verdict"},"reasons":{"type":"array","items":{"type":"string"}}},"$defs":{"verdict":{"enum":["approve","reject"]}}}`

// HaveData succeeds for a task or sub-agent whose result has this data.
func HaveData(data string) types.GomegaMatcher {
	return HaveField("Status.Result", HaveValue(HaveField("Data", HaveValue(HaveField("Raw", MatchJSON(data))))))
}

// structuredResults covers results with an output schema.
func structuredResults(w *world) {
	Describe("Structured results", func() {
		It("data that does not match is returned to the model, and data that matches is in the status", func(ctx SpecContext) {
			r := w.newNamespace(ctx)
			r.create(ctx, MakeTask("work", `Submit data {"verdict":"perhaps"}, then {"reasons":["x <y>"],"verdict":"approve"}`).Output(verdictSchema).Obj())
			want := `{"verdict":"approve","reasons":["x <y>"]}`
			Eventually(r.task("work")).WithContext(ctx).Should(And(BeIn(v1beta1.TaskSuccess), HaveData(want)))
			Eventually(r.sub("work")).WithContext(ctx).Should(And(BeIn(v1beta1.SubAgentCompleted), HaveData(want)))
			requests := must(ctx, w.requestsOf(r.agent(ctx, "work").UID))
			Expect(requests).To(HaveLen(2))
			Expect(requests[1].lastMessage()).To(ContainSubstring("/data/verdict: value must be one of 'approve', 'reject'"))
		})

		It("a plain answer does not end the work", func(ctx SpecContext) {
			r := w.newNamespace(ctx)
			r.create(ctx, MakeTask("work", "Answer plainly").Output(verdictSchema).Obj())
			Eventually(r.task("work")).WithContext(ctx).Should(And(BeIn(v1beta1.TaskSuccess), HaveData(`{"verdict":"approve"}`)))
			Expect(must(ctx, r.task("work")).Status.Iterations).To(BeEquivalentTo(2))
		})

		It("an agent that never submits matching data fails at its limit, without data", func(ctx SpecContext) {
			r := w.newNamespace(ctx)
			r.create(ctx, MakeTask("work", `Submit data {"verdict":"perhaps"}, then {"verdict":"never"}`).Output(verdictSchema).MaxIterations(3).Obj())
			Eventually(r.task("work")).WithContext(ctx).Should(BeIn(v1beta1.TaskFailed))
			task := must(ctx, r.task("work"))
			Expect(task.Status.Error.Kind).To(Equal(v1beta1.ErrorOutputSchemaNotMet))
			if task.Status.Result != nil {
				Expect(task.Status.Result.Data).To(BeNil())
			}
		})

		It("the schema of a role applies to delegated work, whose data the parent gets, and the one of a task replaces it", func(ctx SpecContext) {
			r := w.newNamespace(ctx)
			r.create(ctx, MakeRole("reviewer").Output(verdictSchema).Obj(), MakeRole("coder").Delegates("reviewer").Obj())
			r.create(ctx, MakeTask("work", `Delegate to reviewer: Submit data {"verdict":"reject"}`).Role("coder").Obj(),
				MakeTask("count", `Submit data {"n":7}`).Role("reviewer").Output(`{"type":"object","properties":{"n":{"type":"integer"}},"additionalProperties":false}`).Obj())
			Eventually(r.task("work-1")).WithContext(ctx).Should(And(BeIn(v1beta1.TaskSuccess), HaveData(`{"verdict":"reject"}`)))
			Eventually(r.task("work")).WithContext(ctx).Should(BeIn(v1beta1.TaskSuccess))
			requests := must(ctx, w.requestsOf(r.agent(ctx, "work").UID))
			Expect(requests[len(requests)-1].lastMessage()).To(ContainSubstring(`"data":{"verdict":"reject"}`))
			Eventually(r.task("count")).WithContext(ctx).Should(And(BeIn(v1beta1.TaskSuccess), HaveData(`{"n":7}`)))
		})

		It("data that is too large for the status is only in the history", func(ctx SpecContext) {
			r := w.newNamespace(ctx)
			r.create(ctx, MakeTask("work", `Submit data {"text":"`+strings.Repeat("<", 6000)+`"}`).Output(`{"type":"object","required":["text"]}`).Obj()) // JSON has 6 bytes for each
			Eventually(r.task("work")).WithContext(ctx).Should(And(BeIn(v1beta1.TaskSuccess), HaveField("Status.Result", HaveValue(
				And(HaveField("Summary", "Done."), HaveField("Data", BeNil()), HaveField("DataOmitted", true))))))
		})

		DescribeTable("a schema that cannot be used",
			func(ctx SpecContext, schema, problem string) {
				r := w.newNamespace(ctx)
				r.create(ctx, MakeTask("work", "Submit it").Output(schema).Obj(), MakeRole("strict").Prompt("You are strict.").Output(schema).Obj(), MakeTask("waits", "Submit it").Role("strict").Obj())
				Eventually(r.task("work")).WithContext(ctx).Should(BeDone(v1beta1.TaskFailed, string(v1beta1.ErrorInvalidSpec), "spec.outputSchema: ", problem))
				Eventually(r.role("strict")).WithContext(ctx).Should(HaveStatus(And(ContainSubstring("False InvalidSpec"), ContainSubstring("spec.outputSchema: "), ContainSubstring(problem))))
				Eventually(r.task("waits")).WithContext(ctx).Should(HaveStatus(And(ContainSubstring("Unknown InvalidSpec"), ContainSubstring("The outputSchema of the role strict cannot be used"))))
				change(ctx, r, r.role("strict"), func(role *v1beta1.AgentRole) { role.Spec.OutputSchema = nil })
				Eventually(r.task("waits")).WithContext(ctx).Should(BeIn(v1beta1.TaskSuccess))
			},
			Entry("another type", `{"type":"array"}`, "must have type object"),
			Entry("a reference to another document", `{"$ref":"https://example.com/schema.json"}`, "only references within the schema are followed"),
			Entry("too large", `{"type":"object","description":"`+strings.Repeat("x", 17_000)+`"}`, "at most 16384"),
		)

		It("a remote agent submits no data", func(ctx SpecContext) {
			r := w.newEmptyNamespace(ctx)
			r.create(ctx, MakeRemoteRole("weather", "http://agents.example.com"), MakeTask("work", "weather please").Role("weather").Output(verdictSchema).Obj())
			Eventually(r.task("work")).WithContext(ctx).Should(BeDone(v1beta1.TaskFailed, string(v1beta1.ErrorInvalidSpec), "remote agent"))
		})
	})
}
