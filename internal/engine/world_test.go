// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/engine/exchange"
	"github.com/nestor-dev/nestor/internal/engine/slots"
	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/ledger/ledgertest"
	"github.com/nestor-dev/nestor/internal/model"
	"github.com/nestor-dev/nestor/internal/model/openai"
	"github.com/nestor-dev/nestor/internal/model/schedule"
	"github.com/nestor-dev/nestor/internal/model/scripted"
	"github.com/nestor-dev/nestor/internal/model/wire"
	"github.com/nestor-dev/nestor/internal/quota"
	"github.com/nestor-dev/nestor/internal/role"
	"github.com/nestor-dev/nestor/test/patience"
)

// world is the environment of an engine: a ledger, a scripted model over HTTP, tools that record their runs, and an in-memory
// version of the controllers, which handle children, posts, questions, replies and outcomes.
type world struct {
	t      testing.TB
	model  *scripted.Server
	url    string
	path   string
	ledger ledger.Ledger
	tools  *toolbox

	mu      sync.Mutex
	changed *sync.Cond
	engine  *Engine
	agents  map[string]ledger.Agent // by name
	// stuck is the name of a child that has a task and never gets an agent.
	stuck   string
	posts   []string
	handled []string
	approve func(agent.AskPerson) *agent.Decided
	// configure, if set, changes the initial configuration of agents.
	configure func(*agent.Config)
	errors    []error
	// parallel limits the active sub-agents of a tree; 0 means no limit.
	parallel int
	// quotas are the quotas of every namespace, prices those of the model, and clockOffset is the offset of the clock.
	// quotas have a lock of their own: the engine reads them while it holds an agent, and a test that holds mu may wait for that agent.
	quotasLock  sync.Mutex
	quotas      []quota.Quota
	prices      model.Prices
	clockOffset atomic.Int64
	// models, if set, wraps the models, and onCall is called after each call.
	models func(Models) Models
	onCall func(CompletedCall)
	// policies are those of every engine; nil means none.
	policies Policies
	// awaitRecovery makes the next engines wait for Recover, as an operator does.
	awaitRecovery bool
	// shardHash is the hash of all trees.
	shardHash int
	// ledgerQuota is the ledger quota of a namespace in bytes.
	ledgerQuota int64
	// noControllers disables the controllers, and onRecorded is called for every recorded step.
	noControllers atomic.Bool
	onRecorded    atomic.Pointer[func(*Engine, Change)]
	// reconciling are locks by the UID of an agent.
	reconciling sync.Map
	// deleted are the agents whose objects were deleted, by UID; true means that only an object above was.
	deleted sync.Map
	// requests are the requests that were sent to models, by key.
	requests sync.Map
}

func newWorld(t testing.TB, scripts ...string) *world {
	t.Helper()
	w := &world{t: t, agents: map[string]ledger.Agent{}, tools: &toolbox{runs: map[string]int{}}}
	w.changed = sync.NewCond(&w.mu)
	options := scripted.Options{NoDelay: true}
	for _, name := range scripts {
		options.Scripts = append(options.Scripts, script(t, name))
	}
	w.model = scripted.NewServer(options)
	server := httptest.NewServer(w.model)
	t.Cleanup(server.Close)
	w.url = server.URL + "/v1"
	w.path = filepath.Join(t.TempDir(), "ledger.db")
	w.openLedger()
	t.Cleanup(w.checkRequests)
	w.start(w.ledger)
	t.Cleanup(func() { w.crash() }) // a test may end while a call hangs
	return w
}

// openLedger opens the ledger until the test ends.
func (w *world) openLedger() {
	w.t.Helper()
	w.ledger = ledgertest.Open(w.t, "sqlite:"+w.path)
}

// script returns a built-in script by its name, or parses one that contains lines.
func script(t testing.TB, source string) *scripted.Script {
	t.Helper()
	parsed, err := scripted.Builtin(source)
	if strings.Contains(source, "\n") {
		parsed, err = scripted.Parse("test.yaml", []byte(source))
	}
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

// start starts an engine on the ledger; a second one takes over from the first.
func (w *world) start(l Ledger) *Engine {
	w.t.Helper()
	var e *Engine
	options := w.options(l)
	options.Recorded = func(c Change) {
		if hear := w.onRecorded.Load(); hear != nil {
			(*hear)(e, c)
		}
	}
	e = New(options)
	w.mu.Lock()
	w.engine = e
	w.mu.Unlock()
	return e
}

func (w *world) options(l Ledger) Options {
	w.t.Helper()
	scheduler := schedule.New(schedule.Options{})
	scheduler.SetProvider(schedule.Provider{Name: "default", Concurrent: 64})
	client, err := openai.NewClient(wire.Endpoint{BaseURL: w.url})
	if err != nil {
		w.t.Fatal(err)
	}
	var models Models = fixedModel{Endpoint{Client: client, Model: "scripted", Prices: w.prices}}
	if w.models != nil {
		models = w.models(models)
	}
	return Options{
		Ledger: l, Scheduler: scheduler, Tools: w.tools, LedgerRetryDelay: 10 * time.Millisecond,
		AwaitRecovery: w.awaitRecovery, Models: models, CallCompleted: w.recordCall, Quotas: w, Policies: w.policies, Now: w.now, LedgerQuota: w.ledgerQuota,
		SlotGroups: func(_ context.Context, a ledger.Agent) []slots.Group {
			return []slots.Group{{Key: a.Root, Limit: w.parallel}}
		},
		Deleted: func(_ context.Context, a ledger.Agent) (bool, bool, error) {
			above, deleted := w.deleted.Load(a.UID)
			return deleted && above == false, deleted && above == true, nil
		},
		Changed: func(c Change) {
			go w.reconcile(c.Agent.UID)
		},
		ReportError: func(err error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.errors = append(w.errors, err)
			w.changed.Broadcast()
		},
	}
}

func (w *world) recordCall(c CompletedCall) {
	if c.Request != nil {
		w.requests.Store(c.Request.IdempotencyKey, *c.Request)
	}
	if w.onCall != nil {
		w.onCall(c)
	}
}

// checkRequests compares everything in the sent requests with the ledger, byte for byte. The ledger has the request to the first provider;
// a fallback that served the call, which the call then names, gets it with the properties of its own model.
func (w *world) checkRequests() {
	w.requests.Range(func(key, value any) bool {
		call, err := w.ledger.ModelCall(context.Background(), key.(string))
		if err != nil {
			return !errors.Is(err, ledger.ErrClosed)
		}
		request := value.(model.Request)
		var planned model.Request
		if err := json.Unmarshal(call.Request, &planned); err != nil {
			w.t.Errorf("the request of %s is %s (%v)", key, call.Request, err)
			return true
		}
		if request.Model != planned.Model && request.Model == call.Model {
			request.Model, request.TextOnly, request.ReasoningEffort = planned.Model, planned.TextOnly, planned.ReasoningEffort
		}
		if want := exchange.Encode(request); string(want) != string(call.Request) {
			w.t.Errorf("the ledger has a different request for %s (place %d of chain %d):\n%s\nsent was\n%s", key, call.Place, call.Chain, call.Request, want)
		}
		return true
	})
}

// Quotas implements Quotas.
func (w *world) Quotas(context.Context, string) ([]quota.Quota, error) {
	w.quotasLock.Lock()
	defer w.quotasLock.Unlock()
	return w.quotas, nil
}

// setQuotas changes the quotas as a watching controller does.
func (w *world) setQuotas(quotas ...quota.Quota) {
	w.quotasLock.Lock()
	w.quotas = quotas
	w.quotasLock.Unlock()
	w.current().QuotasChanged("ns")
}

// now returns the time of the engine's clock. It takes no lock, because the engine calls it while a test holds the world's lock.
func (w *world) now() time.Time { return time.Now().Add(time.Duration(w.clockOffset.Load())) }

// stop closes the engine as a graceful shutdown does.
func (w *world) stop() {
	ctx, cancel := context.WithTimeout(context.Background(), patience.Limit())
	defer cancel()
	if err := w.current().Close(ctx); err != nil {
		w.t.Error(err)
	}
}

// crash ends the engine as a kill does: effects in flight are lost.
func (w *world) crash() {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := w.current().Close(ctx); err != nil {
		w.t.Error(err)
	}
}

// restart crashes the engine and starts another one. Like controllers at their start, the world then reconciles everything, since
// an agent may have ended without a notification.
func (w *world) restart() {
	w.t.Helper()
	w.crash()
	if _, err := w.start(w.ledger).Recover(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, a := range w.agents {
		go w.reconcile(a.UID)
	}
}

func (w *world) current() *Engine {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.engine
}

// fixedModel gives every agent the same model.
type fixedModel struct{ endpoint Endpoint }

func (m fixedModel) Route(context.Context, ledger.Agent) (string, error) { return "default", nil }

func (m fixedModel) Endpoint(context.Context, ledger.Agent, string) (Endpoint, error) {
	return m.endpoint, nil
}

// config returns the configuration that the controllers resolve for an agent with a built-in role.
func config(kind agent.Kind, name, roleName string, depth int) agent.Config {
	r, _ := role.BuiltIn(roleName)
	limits := r.Overlay(role.Role{}).Limits // never nil
	c := agent.Config{
		Kind: kind, Name: name, Depth: depth, MaxDepth: 2,
		Role:       agent.Role{Name: r.Name, DisplayName: r.DisplayName, Prompt: r.SystemPrompt},
		Limits:     agent.Limits{MaxIterations: int(limits.MaxIterations), MaxOutputTokens: 1000, ContextTokens: 128_000, MaxRetries: 3, MaxDuration: agent.Millis(limits.MaxDurationSeconds) * 1000},
		AutoAnswer: agent.AutoAnswer{Enabled: true, MinConfidence: 70, MaxPerQuestion: 2},
		Tools:      append(plainTools(), agent.Tool{Name: "calculator", ReadOnly: true, BuiltIn: true}, agent.Tool{Name: "think", ReadOnly: true, BuiltIn: true}),
	}
	if r.Tools != nil {
		c.Role.Allow, c.Role.Deny = r.Tools.Allow, r.Tools.Deny
	}
	for _, name := range r.Delegates() {
		d, ok := role.BuiltIn(name)
		if !ok {
			continue
		}
		delegate := agent.Delegate{Name: d.Name, DisplayName: d.DisplayName, Description: d.Description, When: d.DelegateWhen}
		if d.AsTool != nil {
			delegate.AsTool = &agent.AsTool{Name: d.AsTool.Name, InputSchema: d.InputSchema()}
		}
		c.Delegates = append(c.Delegates, delegate)
	}
	return c
}

func (w *world) chat(limits func(*agent.Limits)) {
	w.t.Helper()
	c := config(agent.Orchestrator, "chat", "orchestrator", 0)
	if limits != nil {
		limits(&c.Limits)
	}
	w.begin(ledger.Agent{UID: "uid-chat", Kind: "AgentChat", Namespace: "ns", Name: "chat", Root: "uid-chat", Chat: "chat", Role: "orchestrator"}, c)
}

func (w *world) begin(record ledger.Agent, c agent.Config) {
	record.CreatedAt, record.ShardHash = time.Now(), w.shardHash
	w.mu.Lock()
	w.agents[record.Name] = record
	if w.configure != nil {
		w.configure(&c)
	}
	w.mu.Unlock()
	w.deliverError(w.current().Start(record, agent.Started{Config: c}))
}

func (w *world) sendMessage(name, text string) {
	w.deliver("uid-chat", agent.MessageArrived{Message: name, Text: text})
}

func (w *world) deliver(uid string, fact agent.Fact) {
	w.deliverError(w.current().Deliver(uid, fact))
}

// deliverError ignores that an engine was just closed: the next one delivers again.
func (w *world) deliverError(err error) {
	if err != nil && !errors.Is(err, ErrClosed) {
		w.t.Error(err)
	}
}

func (w *world) until(what string, ok func() bool) {
	w.t.Helper()
	// Poll as well: not every condition signals its changes.
	ticker, done := time.NewTicker(5*time.Millisecond), make(chan struct{})
	defer close(done)
	defer ticker.Stop()
	go func() {
		for {
			select {
			case <-ticker.C:
				w.changed.Broadcast()
			case <-done:
				return
			}
		}
	}()
	start := time.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	for !ok() {
		if time.Since(start) > patience.Limit() {
			w.t.Fatalf("timed out waiting for: %s\nposts: %s\nerrors: %v", what, strings.Join(w.posts, "\n"), w.errors)
		}
		w.changed.Wait()
	}
}

// untilPosted waits for a message in the chat.
func (w *world) untilPosted(text string) {
	w.t.Helper()
	w.until(fmt.Sprintf("a post with %q", text), func() bool {
		return slices.ContainsFunc(w.posts, func(post string) bool { return strings.Contains(post, text) })
	})
}

func (w *world) tree() []ledger.Run {
	w.t.Helper()
	list, err := w.ledger.Runs(w.t.Context(), ledger.AgentFilter{Scope: ledger.Scope{Root: "uid-chat"}}, ledger.Page{})
	if err != nil {
		w.t.Fatal(err)
	}
	return list.Items
}
