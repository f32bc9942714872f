// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package history_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	api "github.com/nestor-dev/nestor/api/history/v1beta1"
	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/history/historytest"
	"github.com/nestor-dev/nestor/internal/ledger"
)

// writeHistories fills a ledger: in team-a a deleted chat and a chat of the same name that delegated to a researcher, and in
// team-b a chat that has just started.
func writeHistories(l ledger.Ledger) {
	GinkgoHelper()
	namespace("team-a")
	namespace("team-b")
	gone := historytest.Chat("team-a", "release", "uid-gone")
	write(gone.Write(ctx, l, gone.Orchestrator(), agent.MessageArrived{Message: "old", Text: "An old question"}))
	write(gone.Delete(ctx, l))

	chat := historytest.Chat("team-a", "release", "uid-chat")
	write(chat.Write(ctx, l, chat.Orchestrator(), agent.MessageArrived{Message: "hello", Text: "How many leap days?"}))
	write(chat.Write(ctx, l, chat.Replied("", agent.ToolCall{ID: "c1", Tool: "delegate_to_agent", Arguments: `{"role":"researcher","task":"Count"}`})))
	write(chat.Write(ctx, l, chat.Replied("On it.")))
	sub := historytest.SubAgent(chat, "release-1", "uid-sub")
	write(sub.Write(ctx, l, sub.Researcher(agent.Limits{})))
	write(sub.Write(ctx, l, sub.Replied("", agent.ToolCall{ID: "r1", Tool: "read", Arguments: "{}"})))
	write(sub.Write(ctx, l, agent.ToolFinished{Call: "r1", Outcome: agent.ToolSucceeded, Text: "1988 1992 1996"}))
	write(sub.Write(ctx, l, sub.Replied("There are three.")))
	write(chat.Write(ctx, l, agent.ChildFinished{Child: "release-1", Outcome: *sub.State.Outcome}))
	write(chat.Write(ctx, l, chat.Replied("Three.")))

	other := historytest.Chat("team-b", "other", "uid-other")
	write(other.Write(ctx, l, other.Orchestrator(), agent.MessageArrived{Message: "hi", Text: "the secret of team-b"}))
}

// transcriptOf reads a transcript with parameters.
func transcriptOf(namespace, nameAndQuery string) api.Transcript {
	GinkgoHelper()
	var t api.Transcript
	Expect(json.Unmarshal([]byte(must(fetch(raw(namespace, "transcripts/"+nameAndQuery)))), &t)).To(Succeed())
	return t
}

func seqs(entries []api.Entry) []int64 {
	var numbers []int64
	for _, e := range entries {
		numbers = append(numbers, e.Seq)
	}
	return numbers
}

var _ = Describe("The history", Ordered, ContinueOnFailure, func() {
	var w servedLedger
	BeforeAll(func() {
		l := newLedger()
		writeHistories(l)
		w = serve(l)
		DeferCleanup(func() { w.stop() })
	})

	It("lists transcripts with useful columns", func() {
		out := must(kubectl("get", "transcripts", "-n", "team-a"))
		Expect(strings.Fields(strings.SplitN(out, "\n", 2)[0])).To(Equal(strings.Fields("NAME ROLE PHASE REASON TOKENS COST DURATION AGE")))
		rows := columns(out)
		Expect(rows).To(HaveLen(3))
		Expect(rows[0][:4]).To(Equal(strings.Fields("chat.release orchestrator Live 360")), "the reason is empty, so the columns shift")
		Expect(rows[1][:4]).To(Equal([]string{"chat.release.uid-gone", "orchestrator", "Cancelled", "Cancelled"}))
		Expect(rows[2][:4]).To(Equal(strings.Fields("subagent.release-1 researcher Success 240")))
		Expect(rows[2]).To(ContainElement("$0.003"))
		wide := columns(must(kubectl("get", "transcripts", "-n", "team-a", "-o", "wide")))
		Expect(wide[0][:7]).To(Equal(strings.Fields("chat.release orchestrator Live 6 3 0 360")), "events, calls and tools")
		Expect(wide[2]).To(ContainElement("small/v1"))
		Expect(firstColumn(must(kubectl("get", "transcripts", "-A")))).To(Equal([]string{"team-a", "team-a", "team-b", "team-a"}), "oldest first")
	})

	It("returns a complete transcript, also of a deleted agent", func() {
		t := transcriptOf("team-a", "chat.release")
		Expect(seqs(t.Entries)).To(Equal([]int64{1, 2, 3, 4, 5, 6}))
		Expect(t.Next).To(BeNil())
		Expect(t.Agent.UID).To(BeEquivalentTo("uid-chat"))
		Expect(t.Entries[0].SystemPrompt).To(ContainSubstring("You orchestrate."))
		Expect(t.Entries[2].Children).To(HaveExactElements(HaveField("Name", "release-1")))
		Expect(t.Entries[4].Content).To(Equal("There are three."))

		old := transcriptOf("team-a", "chat.release.uid-gone")
		Expect(old.Name).To(Equal("chat.release.uid-gone"))
		Expect(old.Entries[1].Content).To(Equal("An old question"))
		Expect(old.Status.Phase).To(Equal(api.PhaseCancelled))

		sub := transcriptOf("team-a", "subagent.release-1")
		Expect(sub.Agent.Parent).To(BeEquivalentTo("uid-chat"))
		Expect(sub.Entries[len(sub.Entries)-1].Outcome.Result).To(Equal("There are three."))
		Expect(must(kubectl("get", "transcript", "subagent.release-1", "-n", "team-a", "-o", "yaml"))).To(ContainSubstring("content: 1988 1992 1996"))
	})

	It("reads transcripts in pages", func() {
		page := transcriptOf("team-a", "chat.release?limit=4")
		Expect(seqs(page.Entries)).To(Equal([]int64{1, 2, 3, 4}))
		Expect(page.Next).To(HaveValue(BeEquivalentTo(4)))
		rest := transcriptOf("team-a", fmt.Sprintf("chat.release?limit=4&since=%d", *page.Next))
		Expect(seqs(rest.Entries)).To(Equal([]int64{5, 6}))
		Expect(rest.Next).To(BeNil())
		Expect(seqs(transcriptOf("team-a", "chat.release?tail=2").Entries)).To(Equal([]int64{5, 6}))
		lines := strings.Split(strings.TrimSpace(must(fetch(raw("team-a", "transcripts/chat.release/log?since=2&limit=2")))), "\n")
		Expect(lines).To(HaveExactElements(ContainSubstring(`"seq":3`), ContainSubstring(`"content":"On it."`)))
		Expect(errorText(fetch(raw("team-a", "transcripts/chat.release?limit=-1")))).To(ContainSubstring("limit must be a whole number from 0"))
		Expect(errorText(fetch(raw("team-a", "transcripts/chat.release?begin=1")))).To(ContainSubstring(`unknown parameter "begin"`))
		Expect(errorText(fetch(raw("team-a", "transcripts/chat.release/log?follow=maybe")))).To(ContainSubstring("follow must be true or false"))
		Expect(errorText(fetch(raw("team-a", "transcripts/chat.release?since=1&tail=1")))).To(ContainSubstring("do not go together"))
	})

	It("lists in pages, as kubectl does by default", func() {
		Expect(firstColumn(must(kubectl("get", "transcripts", "-n", "team-a", "--chunk-size=1")))).To(HaveLen(3))
		var list api.TranscriptList
		Expect(json.Unmarshal([]byte(must(fetch(raw("team-a", "transcripts?limit=2")))), &list)).To(Succeed())
		Expect(list.Items).To(HaveLen(2))
		Expect(list.Items[0].Entries).To(BeEmpty())
		var rest api.TranscriptList
		Expect(json.Unmarshal([]byte(must(fetch(raw("team-a", "transcripts?limit=2&continue="+list.Continue)))), &rest)).To(Succeed())
		Expect(rest.Items).To(HaveExactElements(HaveField("Name", "subagent.release-1")))
		Expect(rest.Continue).To(BeEmpty())
		Expect(firstColumn(must(kubectl("get", "usages", "-n", "team-a", "--chunk-size=2")))).To(HaveLen(6))
		Expect(errorText(fetch(raw("team-a", "usages?limit=2&continue=bm9uZQ")))).To(ContainSubstring("not the Next of a page"))
		Expect(errorText(fetch(raw("team-a", "transcripts?limit=2&continue=???")))).To(ContainSubstring("continue must be"))
		Expect(errorText(fetch(raw("team-a", "transcripts?limit=2&continue=bm9uZQ")))).To(ContainSubstring("not the Next of a page"))
	})

	It("selects by labels and fields, and explains unsupported selectors", func() {
		list := func(args ...string) []string {
			GinkgoHelper()
			return firstColumn(must(kubectl(append([]string{"get", "-n", "team-a"}, args...)...)))
		}
		Expect(list("transcripts", "-l", "nestor.dev/role=researcher")).To(Equal([]string{"subagent.release-1"}))
		Expect(list("transcripts", "-l", "nestor.dev/chat=release,nestor.dev/role=researcher")).To(HaveLen(1))
		Expect(list("transcripts", "--field-selector", "agent.root=uid-chat")).To(Equal([]string{"chat.release", "subagent.release-1"}))
		Expect(list("transcripts", "--field-selector", "live=true")).To(Equal([]string{"chat.release"}))
		Expect(list("transcripts", "--field-selector", "metadata.name=chat.release")).To(Equal([]string{"chat.release"}))
		Expect(list("modelcalls", "--field-selector", "spec.agent=uid-sub")).To(Equal([]string{"uid-sub.m1.1", "uid-sub.m2.1"}))
		Expect(list("modelcalls", "--field-selector", "spec.parent=uid-chat.m1.1")).To(Equal([]string{"uid-sub.m1.1", "uid-sub.m2.1"}))
		Expect(must(kubectl("get", "modelcalls", "-n", "team-a", "--field-selector", "spec.parent=nobody"))).To(BeEmpty())
		Expect(list("modelcalls", "--field-selector", "metadata.name=uid-sub.m2.1")).To(Equal([]string{"uid-sub.m2.1"}))
		Expect(list("usages", "--field-selector", "by=Role")).To(Equal([]string{"role.orchestrator", "role.researcher"}))
		Expect(must(kubectl("get", "usages", "-n", "team-a", "--field-selector", "since=2030-01-01T00:00:00Z"))).To(BeEmpty())
		Expect(errorText(kubectl("get", "transcripts", "-n", "team-a", "-l", "nestor.dev/role!=x"))).To(ContainSubstring("history can be selected by"))
		Expect(errorText(kubectl("get", "transcripts", "-n", "team-a", "-l", "app=x"))).To(ContainSubstring("history can be selected by"))
		Expect(errorText(kubectl("get", "transcripts", "-n", "team-a", "--field-selector", "agent.depth=1"))).To(ContainSubstring("can be selected by metadata.name"))
		Expect(errorText(kubectl("get", "transcripts", "-n", "team-a", "--field-selector", "live!=true"))).To(ContainSubstring("only = can be used"))
		Expect(errorText(kubectl("get", "usages", "-n", "team-a", "--field-selector", "since=yesterday"))).To(ContainSubstring("write the time as"))
	})

	It("lists model calls without bodies and returns single ones with them", func() {
		rows := columns(must(kubectl("get", "modelcalls", "-n", "team-a")))
		Expect(rows).To(HaveLen(6))
		Expect(rows).To(ContainElement(HaveExactElements(HavePrefix("uid-sub.m1.1"), "researcher", "Success", "120", "1.0s", Not(BeEmpty()))))
		Expect(columns(must(kubectl("get", "modelcalls", "-n", "team-a", "-o", "wide")))).To(ContainElement(ContainElements(HavePrefix("uid-sub.m1.1"), "small/v1", "100", "20", "$0.0015")))
		Expect(must(kubectl("get", "modelcalls", "-n", "team-a", "-o", "yaml"))).NotTo(ContainSubstring("request:"))
		var call api.ModelCall
		Expect(json.Unmarshal([]byte(must(kubectl("get", "modelcall", "uid-sub.m1.1", "-n", "team-a", "-o", "json"))), &call)).To(Succeed())
		Expect(string(call.Spec.Request.Raw)).To(MatchJSON(`{"model":"small/v1"}`))
		Expect(call.Status.Response.Raw).NotTo(BeEmpty())
		Expect(call.Status.Sent).To(HaveValue(Equal(api.SentRequest{BodyDigest: "6e34", Model: "small/v1", MaxOutputTokens: 4096})))
		Expect(call.Spec.Agent).To(BeEquivalentTo("uid-sub"))
		Expect(call.Spec.Parent).To(Equal("uid-chat.m1.1"))
		Expect(call.Spec.ContextMode).To(Equal("Selective"))
		Expect(call.Spec.Files).To(Equal([]string{"calendar.txt"}))
		Expect(errorText(kubectl("get", "modelcall", "uid-sub.m1.1", "-n", "team-b"))).To(ContainSubstring("not found"))
		Expect(errorText(kubectl("get", "modelcall", "x", "-n", "team-a"))).To(ContainSubstring("as in UID.m1.1"))
	})

	It("sums usage by chat, role and model", func() {
		rows := columns(must(kubectl("get", "usages", "-n", "team-a")))
		Expect(rows[0][:6]).To(Equal(strings.Fields("total 6 100% 500 100 $0.0075")))
		Expect(firstColumn(must(kubectl("get", "usages", "-n", "team-a")))).To(Equal([]string{
			"total", "chat.release", "role.orchestrator", "role.researcher", "model.large", "model.small_v1",
		}))
		var usage api.Usage
		Expect(json.Unmarshal([]byte(must(kubectl("get", "usage", "role.researcher", "-n", "team-a", "-o", "json"))), &usage)).To(Succeed())
		Expect(usage.ModelCalls.TotalTokens).To(BeEquivalentTo(240))
		Expect(usage.Runs.SuccessPercent).To(HaveValue(BeEquivalentTo(100)))
		Expect(usage.Runs.MeanDurationMillis).To(HaveValue(BeNumerically(">", 0)))
		Expect(errorText(kubectl("get", "usage", "role.poet", "-n", "team-a"))).To(ContainSubstring("there are total, chat.NAME"))
	})

	It("divides usage by hour, day and month", func() {
		list := func(selector string) api.UsageList {
			GinkgoHelper()
			var found api.UsageList
			Expect(json.Unmarshal([]byte(must(kubectl("get", "usages", "-n", "team-a", "-o", "json", "--field-selector", selector))), &found)).To(Succeed())
			return found
		}
		total := list("by=Total").Items[0]
		for period, layout := range map[api.UsagePeriod]string{api.UsageHour: "2006-01-02t15", api.UsageDay: "2006-01-02", api.UsageMonth: "2006-01"} {
			var tokens, runs int64
			var last time.Time
			for _, u := range list("by=Total,period=" + string(period)).Items {
				Expect(u.Period).To(Equal(period))
				Expect(u.Name).To(Equal(u.StartTime.UTC().Format(layout) + ".total"))
				Expect(u.StartTime.Time).To(BeTemporally(">", last), "in the order of time, each once")
				last = u.StartTime.Time
				tokens, runs = tokens+u.ModelCalls.TotalTokens, runs+u.Runs.Total
				var one api.Usage
				Expect(json.Unmarshal([]byte(must(kubectl("get", "usage", u.Name, "-n", "team-a", "-o", "json"))), &one)).To(Succeed())
				Expect(one.ModelCalls.TotalTokens).To(Equal(u.ModelCalls.TotalTokens))
			}
			Expect(tokens).To(Equal(total.ModelCalls.TotalTokens))
			Expect(runs).To(Equal(total.Runs.Total))
		}
		Expect(list("by=Role,period=Day").Items).To(ContainElement(HaveField("Name", MatchRegexp(`^\d{4}-\d\d-\d\d\.role\.researcher$`))))
		Expect(list("by=Role,period=Day,since=2030-01-01T00:00:00Z").Items).To(BeEmpty())
		Expect(errorText(kubectl("get", "usages", "-n", "team-a", "--field-selector", "period=Week"))).To(ContainSubstring("there are Hour, Day and Month"))
		Expect(errorText(kubectl("get", "usage", "2020-01-01.total", "-n", "team-a"))).To(ContainSubstring("not found"))
	})

	It("returns not found for unknown names", func() {
		Expect(errorText(kubectl("get", "transcript", "chat.nobody", "-n", "team-a"))).To(ContainSubstring(`transcripts.history.nestor.dev "chat.nobody" not found`))
		Expect(errorText(kubectl("get", "transcript", "release", "-n", "team-a"))).To(ContainSubstring("a transcript is named chat.NAME"))
		Expect(errorText(kubectl("get", "transcript", "chat.release.uid-other", "-n", "team-a"))).To(ContainSubstring("not found"), "it belongs to another namespace")
		Expect(must(kubectl("get", "transcript", "chat.nobody", "-n", "team-a", "--ignore-not-found"))).To(BeEmpty())
		Expect(errorText(fetch(raw("team-a", "transcripts/chat.nobody/log?follow=true")))).To(ContainSubstring("not found"))
		Expect(errorText(kubectl("delete", "transcript", "chat.release", "-n", "team-a"))).To(ContainSubstring("not allow"))
	})
})
