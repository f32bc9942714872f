// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package history_test

import (
	"encoding/json"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	historyapi "github.com/nestor-dev/nestor/api/history/v1beta1"
	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/agent/budget"
	"github.com/nestor-dev/nestor/internal/history/historytest"
)

var _ = Describe("The calls of a transcript", func() {
	It("are shown as policies judge them, in pages, to readers of the transcript", func() {
		l := newLedger()
		w := serve(l)
		DeferCleanup(func() { w.stop() })
		namespace("team-a")
		chat := historytest.Chat("team-a", "judged", "uid-judged")
		write(chat.Write(ctx, l, chat.Orchestrator()))
		write(chat.Write(ctx, l, agent.MessageArrived{Message: "m1", Text: "Count them.", User: "alice"}))
		pen := historytest.SubAgent(chat, "judged-1", "uid-judged-1")
		write(pen.Write(ctx, l, pen.Researcher(agent.Limits{})))
		write(pen.Write(ctx, l, pen.Replied("", agent.ToolCall{ID: "r1", Tool: "read", Arguments: `{"path":"a"}`})))
		write(pen.Write(ctx, l, agent.ToolFinished{Call: "r1", Outcome: agent.ToolSucceeded, Text: "x"}))
		pen.Usage = &budget.Amount{Tokens: 700, Writes: 3}
		write(pen.Write(ctx, l, pen.Replied("", agent.ToolCall{ID: "w1", Tool: "write", Arguments: `{}`})))
		read := func(path string) (calls historyapi.TranscriptCalls) {
			GinkgoHelper()
			Expect(json.Unmarshal([]byte(must(fetch(raw("team-a", "transcripts/"+path)))), &calls)).To(Succeed())
			return calls
		}
		calls := read("subagent.judged-1/calls")
		Expect(calls).To(And(HaveField("Kind", "TranscriptCalls"), HaveField("Name", "subagent.judged-1"), HaveField("Next", BeNil()),
			HaveField("Agent.Role", "researcher"), HaveField("Moments", HaveExactElements(
				And(HaveField("Kind", historyapi.CallPlanned), HaveField("ToolCall", "r1"), HaveField("Arguments", `{"path":"a"}`), HaveField("Usage", BeNil()), HaveField("ContentLabels", BeEmpty())),
				And(HaveField("ToolCall", "w1"), HaveField("Usage", Equal(&historyapi.TreeUsage{Tokens: 700, Writes: 3})),
					HaveField("Requesters", Equal(&historyapi.CallRequesters{Users: []string{"alice"}})), HaveField("ContentLabels", HaveExactElements(historyapi.ContentLabel{Name: "untrusted", Source: "read", ToolCall: "r1"}))),
			))))
		first := read("subagent.judged-1/calls?limit=1")
		Expect(first.Moments).To(Equal(calls.Moments[:1]))
		Expect(first.Next).NotTo(BeNil())
		Expect(read("subagent.judged-1/calls?since=2").Moments).To(Equal(calls.Moments[1:]))
		Expect(read("subagent.judged-1/calls?sinceTime=2100-01-01T00:00:00Z").Moments).To(BeEmpty())

		By("not with a mistyped parameter, and not without the right")
		Expect(errorText(fetch(raw("team-a", "transcripts/chat.judged/calls?tail=1")))).To(ContainSubstring("unknown parameter"))
		Expect(errorText(fetch(raw("team-a", "transcripts/chat.judged/calls?sinceTime=today")))).To(ContainSubstring("sinceTime must be a time"))
		Expect(errorText(kubectl("get", "--raw", raw("team-a", "transcripts/chat.judged/calls"), "--as", "stranger"))).To(ContainSubstring("orbidden"))
	})
})
