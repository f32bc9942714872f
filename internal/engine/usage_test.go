// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/agent/budget"
	"github.com/nestor-dev/nestor/internal/engine/exchange"
	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/model"
	"github.com/nestor-dev/nestor/internal/model/openai"
	"github.com/nestor-dev/nestor/internal/model/schedule"
	"github.com/nestor-dev/nestor/internal/model/wire"
)

// fixedProvider is a server that always sends the same reply and counts requests.
type fixedProvider struct {
	url   string
	asked atomic.Int32
	// currency is that of its prices, by default USD.
	currency string
	// body is the SHA-256 of the last request.
	body atomic.Value
}

func newProvider(t *testing.T, status int, body string) *fixedProvider {
	t.Helper()
	p := &fixedProvider{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.asked.Add(1)
		sum := sha256.New()
		_, _ = io.Copy(sum, r.Body) // the digest would differ
		p.body.Store(hex.EncodeToString(sum.Sum(nil)))
		w.WriteHeader(status)
		fmt.Fprint(w, body)
	}))
	t.Cleanup(server.Close)
	p.url = server.URL + "/v1"
	return p
}

// modelsByName are providers by name, each with its own model and prices.
type modelsByName map[string]Endpoint

func (p modelsByName) Route(context.Context, ledger.Agent) (string, error) { return "main", nil }

func (p modelsByName) Endpoint(_ context.Context, _ ledger.Agent, name string) (Endpoint, error) {
	return p[name], nil
}

// runAt runs a sub-agent with a provider and its fallbacks, and returns its last state and its model calls.
func runAt(t *testing.T, limits func(*agent.Limits), main *fixedProvider, fallbacks ...*fixedProvider) (agent.State, []ledger.ModelCall) {
	t.Helper()
	w := newWorld(t)
	w.crash()
	scheduler := schedule.New(schedule.Options{})
	endpoints := modelsByName{}
	for i, p := range append([]*fixedProvider{main}, fallbacks...) {
		name := "main"
		if i > 0 {
			name = fmt.Sprintf("spare-%d", i)
		}
		client, err := openai.NewClient(wire.Endpoint{BaseURL: p.url})
		if err != nil {
			t.Fatal(err)
		}
		price := int64(1_000_000 * (i + 1)) // the price of a token in micros is the position of the provider
		endpoints[name] = Endpoint{Client: client, Model: name + "-model", Prices: model.Prices{{Currency: cmp.Or(p.currency, "USD"), InputMicrosPerMillion: &price, OutputMicrosPerMillion: &price, ContextTokens: 8000}}}
		spec := schedule.Provider{Name: name}
		for j := range fallbacks {
			if i == 0 {
				spec.Fallback = append(spec.Fallback, fmt.Sprintf("spare-%d", j+1))
			}
		}
		scheduler.SetProvider(spec)
	}
	w.engine = New(Options{Ledger: w.ledger, Scheduler: scheduler, Models: endpoints, Tools: w.tools, Random: func() float64 { return 0 },
		ReportError: func(err error) { t.Error(err) }})
	c := config(agent.SubAgent, "run", "general", 1)
	c.Task.Instruction = "work"
	c.Price = &agent.Price{Currency: "USD", Input: 1_000_000, Output: 1_000_000}
	if limits != nil {
		limits(&c.Limits)
	}
	w.begin(ledger.Agent{UID: "uid-run", Kind: "SubAgent", Namespace: "ns", Name: "run", Root: "uid-run", Role: "general", Depth: 1, Provider: "main", Model: "main-model"}, c)
	var state agent.State
	w.until("the run has ended", func() bool {
		state, _ = w.engine.View(t.Context(), "uid-run")
		return state.Phase.Terminal()
	})
	list, err := w.ledger.ModelCalls(t.Context(), ledger.CallFilter{Agent: "uid-run"}, ledger.Page{})
	if err != nil {
		t.Fatal(err)
	}
	return state, list.Items
}

const (
	overloaded = `{"error":{"message":"The engine is overloaded.","type":"overloaded_error"}}`
	answered   = `{"model":"x","choices":[{"message":{"content":"done"},"finish_reason":"stop"}],"usage":{"prompt_tokens":10,"completion_tokens":5}}`
)

// A provider charges for a reply that broke off, and reports no usage of it. Each attempt counts.
func TestReplyThatBreaksOffIsCounted(t *testing.T) {
	const begun = `data: {"model":"x","choices":[{"delta":{"content":"Once upon a time"}}]}` + "\n\n"
	state, calls := runAt(t, func(l *agent.Limits) { l.MaxRetries = 1 }, newProvider(t, http.StatusOK, begun))
	if state.Phase != agent.PhaseFailed || len(calls) != 2 {
		t.Fatalf("the run is %s after %d calls (%+v)", state.Phase, len(calls), state.Outcome)
	}
	if u := state.Usage; u.ModelCalls != 2 || u.PromptTokens == 0 || u.CompletionTokens < 2*3 || u.CostMicros == nil {
		t.Errorf("the run has used %+v", u)
	}
	if used := state.Budget.Used; used.Tokens != state.Usage.Total() || used.CostMicros != used.Tokens {
		t.Errorf("the budget has %+v, the usage is %+v", used, state.Usage)
	}
	for _, call := range calls {
		if r := call.Result; r.Status != ledger.StatusFailed || r.PromptTokens == nil || r.CompletionTokens == nil || r.CostMicros == nil {
			t.Errorf("the call is recorded with %+v", r)
		}
	}
}

// A fallback is used however few retries are allowed, and the call is recorded with the provider, model and price that
// served it.
func TestFallbackIsUsedWithFewRetries(t *testing.T) {
	for _, retries := range []int{0, 1} {
		t.Run(fmt.Sprintf("maxRetries=%d", retries), func(t *testing.T) {
			main, spare := newProvider(t, http.StatusServiceUnavailable, overloaded), newProvider(t, http.StatusOK, answered)
			// The controllers allow at least one attempt per fallback.
			state, calls := runAt(t, func(l *agent.Limits) { l.MaxRetries = max(retries, 1) }, main, spare)
			if state.Phase != agent.PhaseCompleted || main.asked.Load() != 1 || spare.asked.Load() != 1 {
				t.Fatalf("the run is %s (%+v), requests: main %d, spare %d", state.Phase, state.Outcome, main.asked.Load(), spare.asked.Load())
			}
			if len(calls) != 2 {
				t.Fatalf("%d calls are recorded, want 2", len(calls))
			}
			if c := calls[0]; c.Provider != "main" || c.Model != "main-model" || c.Result.Status != ledger.StatusFailed {
				t.Errorf("the first call is recorded as %s at %s, %s", c.Model, c.Provider, c.Result.Status)
			}
			if c := calls[1]; c.Provider != "spare-1" || c.Model != "spare-1-model" || c.Result.CostMicros == nil || *c.Result.CostMicros != 30 {
				t.Errorf("the second call is recorded as %s at %s for %v, want spare-1-model at spare-1 for 30", c.Model, c.Provider, c.Result.CostMicros)
			}
			for i, p := range []*fixedProvider{main, spare} {
				var sent model.Sent
				if err := json.Unmarshal(calls[i].Result.Sent, &sent); err != nil {
					t.Fatal(err)
				}
				if sent.Model != calls[i].Model || sent.BodyDigest != p.body.Load() {
					t.Errorf("call %d has the record %+v, want the model %s and the digest %s", i, sent, calls[i].Model, p.body.Load())
				}
			}
		})
	}
}

// A fallback whose prices are in another currency is not used below a cost limit, and is used without one.
func TestFallbackInAnotherCurrency(t *testing.T) {
	for name, tc := range map[string]struct {
		limit int64
		want  agent.Phase
		asked int32
	}{"a cost limit": {1_000_000, agent.PhaseFailed, 0}, "no limit": {0, agent.PhaseCompleted, 1}} {
		t.Run(name, func(t *testing.T) {
			main, spare := newProvider(t, http.StatusServiceUnavailable, overloaded), newProvider(t, http.StatusOK, answered)
			spare.currency = "EUR"
			state, calls := runAt(t, func(l *agent.Limits) { l.MaxRetries, l.MaxCostMicros = 1, tc.limit }, main, spare)
			if state.Phase != tc.want || main.asked.Load() != 1 || spare.asked.Load() != tc.asked {
				t.Fatalf("the run is %s (%+v), requests: main %d, spare %d", state.Phase, state.Outcome, main.asked.Load(), spare.asked.Load())
			}
			if refused := "the ModelProvider spare-1 was not used: the budget of run counts maxCostMicros in USD, and the provider has prices in EUR"; tc.limit > 0 &&
				(!strings.Contains(state.Outcome.Error, refused) || !strings.Contains(calls[1].Result.Error, refused)) {
				t.Errorf("the run ended with %q and its call with %q", state.Outcome.Error, calls[1].Result.Error)
			}
			if cost := state.Budget.Used; tc.limit == 0 && (cost.CostMicros != 30 || cost.Currency != "EUR") {
				t.Errorf("%+v is counted, want 30 millionths of a euro", cost)
			}
		})
	}
}

// Whatever usage a provider reports, the run continues, and the counted usage is plausible for the call.
func TestImplausibleUsageIsClamped(t *testing.T) {
	reply := `{"choices":[{"message":{"content":"done"},"finish_reason":"stop"}],"usage":{"prompt_tokens":%s,"completion_tokens":%s}}`
	for name, tc := range map[string]struct {
		prompt, completion string
		most               int64
		known              bool
	}{
		"the largest number":   {"9223372036854775807", "9223372036854775807", 16_000, true},
		"more than any number": {"1e300", "123456789012345678901234567890", 16_000, true},
		"negative":             {"-5", "-9223372036854775808", 4000, false},
		"fractions":            {"10.5", "4.0", 15, true},
		"text":                 {`"10"`, `"5"`, 15, true},
	} {
		t.Run(name, func(t *testing.T) {
			state, calls := runAt(t, nil, newProvider(t, http.StatusOK, fmt.Sprintf(reply, tc.prompt, tc.completion)))
			if state.Phase != agent.PhaseCompleted || len(calls) != 1 {
				t.Fatalf("the run is %s after %d calls: %+v", state.Phase, len(calls), state.Outcome)
			}
			if got := state.Usage.Total(); got <= 0 || got > tc.most {
				t.Errorf("%d tokens are counted, want 1 to %d", got, tc.most)
			}
			if result := calls[0].Result; (result.PromptTokens != nil) != tc.known || (result.CostMicros != nil) != tc.known {
				t.Errorf("recorded are %v tokens for %v, want known = %t", result.PromptTokens, result.CostMicros, tc.known)
			}
		})
	}
}

// A refusal or a filtered reply counts as usage.
func TestRefusedRepliesCountAsUsage(t *testing.T) {
	for name, choice := range map[string]string{
		"refused":  `{"message":{"refusal":"I will not."},"finish_reason":"stop"}`,
		"filtered": `{"message":{"content":"So"},"finish_reason":"content_filter"}`,
	} {
		t.Run(name, func(t *testing.T) {
			state, calls := runAt(t, nil, newProvider(t, http.StatusOK, `{"choices":[`+choice+`],"usage":{"prompt_tokens":10,"completion_tokens":5}}`))
			if state.Outcome == nil || state.Outcome.Kind != agent.ErrorModel || len(calls) != 1 {
				t.Fatalf("the run ended with %+v after %d calls, want ModelError after one", state.Outcome, len(calls))
			}
			if u := state.Usage; u.Total() != 15 || u.ModelCalls != 1 || u.CostMicros == nil || *u.CostMicros != 15 || state.Budget.Used.Tokens != 15 {
				t.Errorf("usage is %+v and %+v, want 15 tokens", u, state.Budget.Used)
			}
			r := calls[0].Result
			if r.Status != ledger.StatusFailed || r.Error == "" || r.PromptTokens == nil || *r.PromptTokens != 10 || r.CostMicros == nil || *r.CostMicros != 15 {
				t.Errorf("recorded is %+v, want a failed call with its tokens and cost", r)
			}
		})
	}
}

// A provider that sends no choices is retried maxRetries times, not until the iterations are used up.
func TestEmptyChoicesAreModelError(t *testing.T) {
	p := newProvider(t, http.StatusOK, `{"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":0}}`)
	state, calls := runAt(t, func(l *agent.Limits) { l.MaxRetries = 1 }, p)
	if o := state.Outcome; o == nil || o.Kind != agent.ErrorModel || o.Error != "the provider answered without a reply: the list of choices is empty" {
		t.Fatalf("the run ended with %+v, want ModelError", state.Outcome)
	}
	if p.asked.Load() != 2 || len(calls) != 2 {
		t.Errorf("the provider got %d requests in %d recorded calls, want 2", p.asked.Load(), len(calls))
	}
	if state.Usage.Total() != 20 {
		t.Errorf("%d tokens are counted, want the 20 that the provider reported", state.Usage.Total())
	}
}

// A provider may report anything. What is counted is consistent, and costs no more than the counted tokens can cost.
func TestReportedUsageIsConsistent(t *testing.T) {
	price, write := int64(1_000_000), int64(1_250_000)
	prices := model.Prices{{Name: "m", InputMicrosPerMillion: &price, CacheWriteMicrosPerMillion: &write, OutputMicrosPerMillion: &price}}
	rapid.Check(t, func(t *rapid.T) {
		count := rapid.OneOf(rapid.Int64Range(0, 1000), rapid.Int64Range(0, 1<<40))
		reported, counted := exchange.Usage(model.Request{Model: "m"}, model.Reply{Usage: &model.Usage{
			PromptTokens: count.Draw(t, "prompt"), CachedTokens: count.Draw(t, "cached"), CacheWriteTokens: count.Draw(t, "written"),
			CompletionTokens: count.Draw(t, "completion"), ReasoningTokens: count.Draw(t, "reasoning"),
		}}, agent.CallModel{Reserve: budget.Amount{Tokens: 500}}, prices)
		if reported.CachedTokens+reported.CacheWriteTokens > reported.PromptTokens || reported.ReasoningTokens > reported.CompletionTokens || reported.PromptTokens > model.DefaultContextTokens {
			t.Fatalf("counted %+v", reported)
		}
		if most := prices.MaxCost("m", counted.PromptTokens, counted.CompletionTokens); *counted.CostMicros > *most {
			t.Fatalf("%+v costs %d, at most %d is possible", reported, *counted.CostMicros, *most)
		}
	})
}
