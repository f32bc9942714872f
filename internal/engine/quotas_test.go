// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"strings"
	"testing"
	"time"

	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/engine/admission"
	"github.com/nestor-dev/nestor/internal/engine/slots"
	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/model"
	"github.com/nestor-dev/nestor/internal/quota"
	"github.com/nestor-dev/nestor/test/patience"
)

// greetingScript replies to everything and reports a usage of 100 tokens.
const greetingScript = `
name: greets
rules:
- name: all
  match: {}
  reply: {text: "Good morning.", usage: {promptTokens: 90, completionTokens: 10}}
`

// startTask starts a sub-agent as the root of its own tree.
func (w *world) startTask(name string, limits func(*agent.Limits)) {
	w.t.Helper()
	c := config(agent.SubAgent, name, "general", 1)
	c.Task = agent.Task{Instruction: "Say something."}
	if limits != nil {
		limits(&c.Limits)
	}
	uid := "uid-" + name
	w.begin(ledger.Agent{UID: uid, Kind: "SubAgent", Namespace: "ns", Name: name, Root: uid, Role: "general", Depth: 1, Provider: "default", Model: "scripted"}, c)
}

// state returns the state of an agent, which may not have started.
func (w *world) state(name string) agent.State {
	s, _ := w.current().View(w.t.Context(), "uid-"+name)
	return s
}

func (w *world) untilState(what, name string, ok func(agent.State) bool) {
	w.t.Helper()
	if !patience.Until(func() bool { return ok(w.state(name)) }) {
		w.t.Fatalf("timed out waiting for: %s; model call %+v", what, w.state(name).ModelCall)
	}
}

func (w *world) untilWaits(name, reason string) {
	w.t.Helper()
	w.untilState(name+" waits with "+reason, name, func(s agent.State) bool { return s.QuotaWait() != nil && s.QuotaWait().Reason == reason })
}

func (w *world) untilCompleted(name string) {
	w.t.Helper()
	w.untilState(name+" is completed", name, func(s agent.State) bool { return s.Phase == agent.PhaseCompleted })
}

func (w *world) count() ledger.QuotaCount {
	w.t.Helper()
	request := ledger.QuotaRequest{Namespace: "ns", At: w.now(), Limits: []ledger.QuotaLimit{{Since: quota.Month.Start(w.now())}}}
	answers, err := w.ledger.Reserve(w.t.Context(), []ledger.QuotaRequest{request})
	if err != nil {
		w.t.Fatal(err)
	}
	return answers[0].Counts[0]
}

func TestQuotaIsSettledWithUsage(t *testing.T) {
	w := newWorld(t, greetingScript)
	w.setQuotas(quota.Quota{Name: "monthly", Period: quota.Month, MaxTokens: 1_000_000})
	w.startTask("a", nil)
	w.untilCompleted("a")
	if got := w.count(); got != (ledger.QuotaCount{Tokens: 100}) {
		t.Errorf("the count is %+v, want the 100 tokens that were used", got)
	}
}

func TestRunWaitsForRaisedQuota(t *testing.T) {
	w := newWorld(t, greetingScript)
	w.setQuotas(quota.Quota{Name: "monthly", Period: quota.Month, MaxTokens: 10})
	w.startTask("a", nil)
	w.untilWaits("a", admission.QuotaExhausted)
	if message := w.state("a").QuotaWait().Message; !strings.Contains(message, "AgentQuota monthly") {
		t.Errorf("the message is %q", message)
	}
	if stats := w.current().Stats(); stats.InFlight == 0 {
		t.Error("the call is not outstanding")
	}
	w.restart()
	w.untilWaits("a", admission.QuotaExhausted)
	if requests := len(w.model.Requests()); requests != 0 {
		t.Fatalf("the model was called %d times", requests)
	}
	w.setQuotas(quota.Quota{Name: "monthly", Period: quota.Month, MaxTokens: 1_000_000})
	w.untilCompleted("a")
	if got := w.count(); got != (ledger.QuotaCount{Tokens: 100}) {
		t.Errorf("the count is %+v, want 100 tokens", got)
	}
}

func TestDeletedQuotaReleasesRun(t *testing.T) {
	w := newWorld(t, greetingScript)
	w.setQuotas(quota.Quota{Name: "monthly", Period: quota.Month, MaxTokens: 10})
	w.startTask("a", nil)
	w.untilWaits("a", admission.QuotaExhausted)
	w.setQuotas()
	w.untilCompleted("a")
}

func TestQuotaWaitCanBeCancelled(t *testing.T) {
	w := newWorld(t, greetingScript)
	w.setQuotas(quota.Quota{Name: "monthly", Period: quota.Month, MaxTokens: 10})
	w.startTask("a", nil)
	w.untilWaits("a", admission.QuotaExhausted)
	w.deliver("uid-a", agent.Cancelled{})
	w.untilState("it ended", "a", func(s agent.State) bool { return s.Phase == agent.PhaseFailed })
	w.until("the call is closed", func() bool {
		open, err := w.ledger.OpenCalls(t.Context(), "uid-a")
		return err == nil && len(open.Models) == 0
	})
	if got := w.count(); got != (ledger.QuotaCount{}) {
		t.Errorf("the count is %+v, want zero", got)
	}
}

// The clock of an agent is stopped while it waits for a quota: with a limit of one second it waits longer without a
// timeout.
func TestQuotaWaitIsNotActiveTime(t *testing.T) {
	w := newWorld(t, greetingScript)
	w.setQuotas(quota.Quota{Name: "monthly", Period: quota.Month, MaxTokens: 10})
	w.startTask("a", func(l *agent.Limits) { l.MaxDuration = 60_000 })
	w.untilWaits("a", admission.QuotaExhausted)
	w.mu.Lock()
	w.clockOffset.Add(int64(time.Hour))
	w.mu.Unlock()
	w.deliver("uid-a", agent.Woke{})
	w.restart()
	w.untilWaits("a", admission.QuotaExhausted)
	w.setQuotas()
	w.untilCompleted("a")
	if took := w.state("a").Clock.Active; took > 60_000 {
		t.Errorf("the active time is %d ms, although the run only waited", took)
	}
}

func TestQuotaResetsWithPeriod(t *testing.T) {
	w := newWorld(t, greetingScript)
	w.hourEndsIn(30 * time.Minute) // on a slow machine too, the second task waits before that
	w.setQuotas(quota.Quota{Name: "hourly", Period: quota.Hour, MaxTokens: 6000})
	w.startTask("a", nil)
	w.untilCompleted("a")
	used := w.count().Tokens
	hourly := quota.Quota{Name: "hourly", Period: quota.Hour, MaxTokens: w.reserved("a") + used - 1}
	w.setQuotas(hourly)
	w.startTask("b", nil)
	w.untilWaits("b", admission.QuotaExhausted)
	w.hourEndsIn(2 * time.Second)
	w.setQuotas(hourly) // the engine reads its clock
	w.untilCompleted("b")
}

// hourEndsIn moves the engine's clock to a time before the end of an hour.
func (w *world) hourEndsIn(left time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	w.clockOffset.Store(int64(quota.Hour.End(now).Sub(now) - left))
}

// reserved returns the reservation of an agent's first call.
func (w *world) reserved(name string) int64 {
	w.t.Helper()
	history, err := w.ledger.Load(w.t.Context(), "uid-"+name)
	if err != nil {
		w.t.Fatal(err)
	}
	state, _, err := rebuild(ledger.History{Events: history.Events[:1]})
	if err != nil {
		w.t.Fatal(err)
	}
	return state.ModelCall.Reserved.Tokens
}

// Many parallel agents never exceed the quota, and all of them end when it is raised step by step.
func TestParallelRunsRespectTheQuota(t *testing.T) {
	w := newWorld(t, greetingScript)
	w.setQuotas(quota.Quota{Name: "monthly", Period: quota.Month, MaxTokens: 1})
	names := []string{"a", "b", "c", "d", "e", "f"}
	for _, name := range names {
		w.startTask(name, nil)
	}
	for _, name := range names {
		w.untilWaits(name, admission.QuotaExhausted)
	}
	one := w.state("a").ModelCall.Reserved.Tokens
	w.setQuotas(quota.Quota{Name: "monthly", Period: quota.Month, MaxTokens: one + 250})
	// Three calls fit one after the other: each reserves nearly everything and uses 100.
	w.until("three have ended", func() bool { return len(w.model.Requests()) == 3 })
	ended := func() (n int) {
		for _, name := range names {
			if w.state(name).Phase == agent.PhaseCompleted {
				n++
			}
		}
		return n
	}
	w.untilState("three are completed", "a", func(agent.State) bool { return ended() == 3 })
	if got := w.count(); got.Tokens != 300 || got.ReservedTokens != 0 {
		t.Errorf("the count is %+v, want 300 tokens", got)
	}
	w.setQuotas(quota.Quota{Name: "monthly", Period: quota.Month, MaxTokens: 1_000_000})
	for _, name := range names {
		w.untilCompleted(name)
	}
}

func TestMoneyQuotaNeedsPrice(t *testing.T) {
	w := newWorld(t, greetingScript)
	w.setQuotas(quota.Quota{Name: "money", Period: quota.Month, MaxCostMicros: 1_000_000})
	w.startTask("a", nil)
	w.untilWaits("a", admission.PriceUnknown)
	price := int64(1_000_000)
	w.mu.Lock()
	w.prices = model.Prices{{Name: "scripted", Currency: "USD", InputMicrosPerMillion: &price, OutputMicrosPerMillion: &price}}
	w.mu.Unlock()
	w.restart() // the prices are part of the endpoint
	w.untilCompleted("a")
	if got := w.count(); got != (ledger.QuotaCount{Tokens: 100, CostMicros: 100, Currency: "USD"}) {
		t.Errorf("the count is %+v, want 100 tokens for 100", got)
	}
}

// A cost quota counts in the currency of the first call of its period, even after a restart. Without it both
// currencies are used.
func TestMoneyQuotaHasOneCurrency(t *testing.T) {
	w := newWorld(t, greetingScript)
	price := int64(1_000_000)
	prices := func(currency string) {
		w.mu.Lock()
		w.prices = model.Prices{{Name: "scripted", Currency: currency, InputMicrosPerMillion: &price, OutputMicrosPerMillion: &price}}
		w.mu.Unlock()
		w.restart()
	}
	prices("USD")
	w.setQuotas(quota.Quota{Name: "money", Period: quota.Month, MaxCostMicros: 1_000_000})
	w.startTask("a", nil)
	w.untilCompleted("a")
	prices("EUR")
	w.startTask("b", nil)
	w.untilWaits("b", admission.PriceUnknown)
	if wait := w.state("b").QuotaWait(); !strings.Contains(wait.Message, "counts in USD since the first call of this period, and the price of the next call is in EUR") {
		t.Errorf("the message is %q", wait.Message)
	}
	w.setQuotas()
	w.untilCompleted("b")
	w.setQuotas(quota.Quota{Name: "money", Period: quota.Month, MaxCostMicros: 1_000_000})
	w.startTask("c", nil)
	w.untilWaits("c", admission.PriceUnknown)
	if wait := w.state("c").QuotaWait(); !strings.Contains(wait.Message, "several currencies") {
		t.Errorf("the message is %q", wait.Message)
	}
}

// A quota that is created while calls are in flight counts them too.
func TestNewQuotaCountsEarlierUsage(t *testing.T) {
	w := newWorld(t, greetingScript)
	w.startTask("a", nil)
	w.untilCompleted("a")
	w.setQuotas(quota.Quota{Name: "monthly", Period: quota.Month, MaxTokens: 1_000_000})
	usage, err := w.current().QuotaUsage(t.Context(), "ns")
	if err != nil || len(usage) != 1 || usage[0].Count.Tokens != 100 {
		t.Errorf("usage is %+v (%v), want 100 tokens", usage, err)
	}
	w.startTask("b", nil)
	w.untilCompleted("b")
	w.setQuotas()
	w.startTask("c", nil) // not counted until there is a quota again
	w.untilCompleted("c")
	w.setQuotas(quota.Quota{Name: "monthly", Period: quota.Month, MaxTokens: 1_000_000})
	w.startTask("d", nil)
	w.untilCompleted("d")
	if got := w.count().Tokens; got != 400 {
		t.Errorf("the count is %d tokens, want those of all four", got)
	}
}

// A quota of active agents applies across the trees of a namespace, and raising it lets waiting agents start.
func TestQuotaLimitsActiveAgents(t *testing.T) {
	w := newWorld(t, greetingScript)
	w.mu.Lock()
	w.quotas = []quota.Quota{{Name: "few", Period: quota.Hour, MaxActiveAgents: 1}}
	w.mu.Unlock()
	e := w.current()
	groups := func(limit int) []slots.Group { return []slots.Group{{Key: slots.OfNamespace("ns"), Limit: limit}} }
	woken := make(chan struct{})
	if !e.slots.Acquire(e, "uid-a", groups(1), nil) || e.slots.Acquire(e, "uid-b", groups(1), func() { close(woken) }) {
		t.Fatal("want one of two agents to wait")
	}
	if q, ok := e.WaitsForActiveQuota(t.Context(), "ns", "uid-b"); !ok || q.Name != "few" {
		t.Errorf("the second waits for %+v (%t)", q, ok)
	}
	usage, err := e.QuotaUsage(t.Context(), "ns")
	if err != nil || usage[0].Active != 1 || usage[0].Waiting != 1 {
		t.Errorf("usage is %+v (%v), want one active and one waiting", usage, err)
	}
	w.setQuotas(quota.Quota{Name: "few", Period: quota.Hour, MaxActiveAgents: 2})
	<-woken
	if usage, err := e.QuotaUsage(t.Context(), "ns"); err != nil || usage[0].Active != 2 || usage[0].Waiting != 0 {
		t.Errorf("usage is %+v (%v), want two active", usage, err)
	}
	e.slots.Release("uid-a")
	e.slots.Release("uid-b")
}
