// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package history_test

import (
	"github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/history/historytest"
)

var _ = ginkgo.Describe("A recreated namespace", ginkgo.Ordered, func() {
	var w servedLedger

	ginkgo.BeforeAll(func() {
		store := newLedger()
		namespace("team-again")
		for _, uid := range []string{"uid-of-the-old-one", ""} { // the second gets the namespace's
			name := "now"
			if uid != "" {
				name = "before"
			}
			pen := historytest.Chat("team-again", name, "uid-"+name)
			pen.Record.NamespaceUID = uid
			write(pen.Write(ctx, store, pen.Orchestrator(), agent.MessageArrived{Message: "m", Text: "the words of " + name}))
			write(pen.Write(ctx, store, pen.Replied("An answer.")))
		}
		w = serve(store)
	})
	ginkgo.AfterAll(func() { w.stop() })

	ginkgo.It("lists only its own transcripts", func() {
		Expect(must(kubectl("get", "transcripts", "-n", "team-again"))).To(And(ContainSubstring("chat.now"), Not(ContainSubstring("chat.before"))))
		Expect(must(kubectl("get", "transcripts", "-A"))).To(ContainSubstring("chat.before"), "the ledger has it")
	})

	ginkgo.It("does not find transcripts of the old namespace by name", func() {
		Expect(must(fetch(raw("team-again", "transcripts/chat.now/log")))).To(ContainSubstring("the words of now"))
		for _, name := range []string{"chat.before", "chat.before.uid-before"} {
			Expect(errorText(fetch(raw("team-again", "transcripts/"+name+"/log")))).To(ContainSubstring("not found"))
		}
	})

	ginkgo.It("returns only its own model calls and usage", func() {
		Expect(must(kubectl("get", "modelcalls", "-n", "team-again"))).To(And(ContainSubstring("uid-now"), Not(ContainSubstring("uid-before"))))
		Expect(errorText(kubectl("get", "modelcall", "-n", "team-again", "uid-before.m1.1"))).To(ContainSubstring("not found"))
		Expect(must(fetch(raw("team-again", "usages")))).To(And(ContainSubstring(`now`), Not(ContainSubstring("before"))))
	})
})
