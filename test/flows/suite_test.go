// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package flows

import (
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/nestor-dev/nestor/test/stack"
)

func TestFlows(t *testing.T) {
	RegisterFailHandler(Fail)
	// The machine may be busy: what takes long is not wrong.
	SetDefaultEventuallyTimeout(45 * time.Second)
	EnforceDefaultTimeoutsWhenUsingContexts()
	SetDefaultEventuallyPollingInterval(25 * time.Millisecond)
	RunSpecs(t, "Flows")
}

var _ = Describe("With SQLite", Ordered, ContinueOnFailure, func() { flows(stack.SQLite) })

var _ = Describe("With PostgreSQL", Ordered, ContinueOnFailure, func() { smoke(stack.PostgreSQL) })

func begin(ledger string) *world {
	w := &world{}
	BeforeAll(func(ctx SpecContext) { w.start(ctx, ledger) })
	AfterEach(func(ctx SpecContext) { w.inspect(ctx) })
	AfterAll(func() { Expect(w.Refusals()).To(BeEmpty()) })
	return w
}

// smoke are the flows that depend most on the ledger: parallel appends, quotas, retention, handing over, reading back, and its loss. The ledger's conformance
// suite covers the driver, so the other flows run once, with SQLite.
func smoke(ledger string) {
	w := begin(ledger)
	parallelAgents(w)
	conversations(w)
	upkeep(w)
	quotas(w)
	handover(w)
	record(w)
	withoutLedger(w) // the last: it loses the ledger
}

// flows are all specs, on one stack.
func flows(ledger string) {
	w := begin(ledger)
	nestedAgents(w)
	centralOrchestration(w)
	roleDelegation(w)
	agentsAsTools(w)
	parallelAgents(w)
	runaway(w)
	conversations(w)
	messageOrder(w)
	nestedWaits(w)
	upkeep(w)
	toolResults(w)
	quotas(w)
	deletion(w)
	identity(w)
	refusals(w)
	configuration(w)
	badInputs(w)
	handover(w)
	record(w)
	It("all of this has filled every column of the ledger", func(ctx SpecContext) {
		if !wholeSuite() {
			Skip("only some flows ran")
		}
		Expect(w.emptyColumns(ctx)).To(BeEmpty(), "fill these columns, or remove them with a migration")
	})
	withoutLedger(w) // the last: it loses the ledger
}
