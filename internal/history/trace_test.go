// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package history_test

import (
	"encoding/json"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	historyapi "github.com/nestor-dev/nestor/api/history/v1beta1"
	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/history/historytest"
)

var _ = Describe("A trace", func() {
	It("shows what an agent did, in pages, to readers of its transcript", func() {
		l := newLedger()
		w := serve(l)
		DeferCleanup(func() { w.stop() })
		namespace("team-a")
		chat := historytest.Chat("team-a", "traced", "uid-traced")
		write(chat.Write(ctx, l, chat.Orchestrator()))
		pen := historytest.SubAgent(chat, "traced-1", "uid-traced-1")
		write(pen.Write(ctx, l, pen.Researcher(agent.Limits{})))
		write(pen.Write(ctx, l, pen.Replied("", agent.ToolCall{ID: "w1", Tool: "write", Arguments: `{}`})))
		write(pen.Write(ctx, l, agent.Decided{Call: "w1", Approve: true, User: "alice"}))
		read := func(path string) (trace historyapi.Trace) {
			GinkgoHelper()
			Expect(json.Unmarshal([]byte(must(fetch(raw("team-a", "transcripts/"+path)))), &trace)).To(Succeed())
			return trace
		}
		trace := read("subagent.traced-1/trace")
		Expect(trace).To(And(HaveField("Kind", "Trace"), HaveField("Name", "subagent.traced-1"), HaveField("Next", BeNil()), HaveField("Segments", HaveExactElements(
			And(HaveField("Kind", historyapi.SegmentModel), HaveField("ModelCall", "uid-traced-1.m1.1"), HaveField("EndSeq", int64(2))),
			And(HaveField("Kind", historyapi.SegmentUser), HaveField("Reason", historyapi.SegmentApproval), HaveField("ToolCalls", HaveExactElements(historyapi.SegmentCall{ID: "w1", Tool: "write"}))),
			And(HaveField("Kind", historyapi.SegmentTool), HaveField("EndTime", BeNil())),
		))))
		first := read("subagent.traced-1/trace?limit=1")
		Expect(first.Segments).To(HaveLen(1))
		Expect(first.Next).To(HaveValue(Equal(int64(2))))
		Expect(read("subagent.traced-1/trace?since=2").Segments).To(Equal(trace.Segments[1:]))

		By("of a chat until it is deleted")
		Expect(read("chat.traced/trace").Segments).To(HaveExactElements(And(HaveField("Kind", historyapi.SegmentIdle), HaveField("EndTime", BeNil()))))
		write(chat.Delete(ctx, l))
		Expect(read("chat.traced/trace").Segments).To(HaveExactElements(HaveField("EndTime", Not(BeNil()))))

		By("not with a mistyped parameter, and not without the right")
		Expect(errorText(fetch(raw("team-a", "transcripts/chat.traced/trace?tail=1")))).To(ContainSubstring("unknown parameter"))
		Expect(errorText(kubectl("get", "--raw", raw("team-a", "transcripts/chat.traced/trace"), "--as", "stranger"))).To(ContainSubstring("orbidden"))
	})
})
