// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package flows

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/nestor-dev/nestor/test/patience"
	"github.com/nestor-dev/nestor/test/stack"
)

// ledgerVariable names the ledger of the specs; they run with SQLite without it.
const ledgerVariable = "NESTOR_TEST_FLOWS_LEDGER"

func TestFlows(t *testing.T) {
	t.Parallel()
	RegisterFailHandler(Fail)
	SetDefaultEventuallyTimeout(patience.Limit())
	EnforceDefaultTimeoutsWhenUsingContexts()
	SetDefaultEventuallyPollingInterval(25 * time.Millisecond)
	RunSpecs(t, "Flows")
}

// TestFlowsWithPostgreSQL runs the specs with PostgreSQL beside the others, in a process of its own: Ginkgo runs the specs of one process one
// after the other, and most of their time is spent waiting.
func TestFlowsWithPostgreSQL(t *testing.T) {
	t.Parallel()
	if os.Getenv(ledgerVariable) != "" {
		t.Skip("this is the other process")
	}
	// The log of what a test opens is for the go command, from one process.
	args := slices.DeleteFunc(slices.Clone(os.Args[1:]), func(arg string) bool { return strings.HasPrefix(arg, "-test.testlogfile=") })
	cmd := exec.CommandContext(t.Context(), os.Args[0], append(args, "-test.run=^TestFlows$")...)
	cmd.Env = append(os.Environ(), ledgerVariable+"="+stack.PostgreSQL)
	output, err := cmd.CombinedOutput()
	t.Logf("%s", output)
	if err != nil {
		t.Error(err)
	}
}

var _ = func() bool {
	if ledger := os.Getenv(ledgerVariable); ledger != "" {
		return Describe("With "+ledger, Ordered, ContinueOnFailure, func() { smoke(ledger) })
	}
	return Describe("With SQLite", Ordered, ContinueOnFailure, func() { flows(stack.SQLite) })
}()

func startSpec(ledger string) *world {
	w := &world{}
	BeforeAll(func(ctx SpecContext) { w.start(ctx, ledger) })
	AfterEach(func(ctx SpecContext) { w.checkAfterSpec(ctx) })
	AfterAll(func() { Expect(w.Refusals()).To(BeEmpty()) })
	return w
}

// smoke runs the flows that depend most on the ledger: parallel appends, quotas, retention, hand-over, reads, and its loss. The
// ledger's conformance suite covers the driver, so the other flows run only with SQLite. The core flows on the APIs of models run
// here because SQLite has enough to do.
func smoke(ledger string) {
	w := startSpec(ledger)
	everyAPI(w)
	parallelAgents(w)
	housekeeping(w)
	quotas(w)
	sharing(w)
	record(w)
	ledgerFailures(w) // last, because it loses the ledger
}

func flows(ledger string) {
	w := startSpec(ledger)
	nestedAgents(w)
	centralOrchestration(w)
	roleDelegation(w)
	structuredResults(w)
	forks(w)
	promptIncludes(w)
	roleRevisions(w)
	evaluations(w)
	evaluationCrashes(w)
	skills(w)
	reviews(w)
	agentsAsTools(w)
	parallelAgents(w)
	runaway(w)
	conversations(w)
	messageOrder(w)
	nestedWaits(w)
	allowances(w)
	policies(w)
	housekeeping(w)
	toolResults(w)
	remoteAgents(w)
	toolInput(w)
	oauthTokens(w)
	consent(w)
	quotas(w)
	triggers(w)
	notifications(w)
	deletion(w)
	identity(w)
	refusals(w)
	configuration(w)
	badInputs(w)
	handover(w)
	doors(w)
	record(w)
	It("every column of the ledger was filled", func(ctx SpecContext) {
		if !wholeSuite() {
			Skip("only some flows ran")
		}
		Expect(w.emptyColumns(ctx)).To(BeEmpty(), "fill these columns, or remove them with a migration")
	})
	ledgerFailures(w) // last, because it loses the ledger
}
