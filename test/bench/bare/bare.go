// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package bare

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"runtime/debug"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/util/uuid"

	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/engine"
	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/ledger/connect"
	"github.com/nestor-dev/nestor/internal/model"
	"github.com/nestor-dev/nestor/internal/model/schedule"
	"github.com/nestor-dev/nestor/internal/shard"
	"github.com/nestor-dev/nestor/test/bench/measure"
)

// gcPercent is the operator's GOGC.
const gcPercent = 200

// warmUpTurns is the number of turns of the warm-up agent.
const warmUpTurns = 20

// Role is the role of the agents in the ledger.
const Role = "worker"

// Load describes the work of the engine.
type Load struct {
	// Agents run in total, InlineTools of them in parallel, with Turns tool turns each.
	Agents, AtOnce, Turns int
	// Shards is the number of shards of the ledger, all owned by this process; 0 means that it is not divided.
	Shards int
	// ResultBytes is the size of each result of the tool.
	ResultBytes int
	// ContextTokens is the context of the model; 0 means that of an unknown model.
	ContextTokens int64
	// SampleEvery is the number of tool calls between samples; 0 takes only the first and the last.
	SampleEvery int64
}

// Sample has the CPU time and the sent bytes at a moment.
type Sample struct {
	At  time.Time
	CPU time.Duration
	// Sent are the bytes of all requests to the model.
	Sent int64
}

// Outcome is the result of a run.
type Outcome struct {
	// Began is the time before the first agent, for queries of the ledger; Wall ends with the last agent.
	Began    time.Time
	Wall     time.Duration
	Failures int
	// Took is the time of each agent.
	Took []time.Duration
	// CPU is the CPU time of this process while the agents ran, and PeakRSS its peak memory.
	CPU     time.Duration
	PeakRSS int64
	// UniqueBytes is the size of all texts of the agents, each counted once: the first request of each agent, the
	// replies and the results.
	UniqueBytes int64
	// Compactions counts compacted histories.
	Compactions int64
	// Samples are in order; the first is taken at the start.
	Samples []Sample
}

// Run opens the ledger at url and runs the load on an engine. It calls ready after a warm-up agent, before it
// measures.
func Run(ctx context.Context, url string, load Load, ready func(ctx context.Context) error) (outcome Outcome, err error) {
	store, err := connect.Open(ctx, url)
	if err != nil {
		return outcome, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	if os.Getenv("GOGC") == "" {
		defer debug.SetGCPercent(debug.SetGCPercent(gcPercent))
	}
	r := &run{load: load, ended: make(chan ended, load.AtOnce)}
	if err := r.start(ctx, store); err != nil {
		return outcome, err
	}
	defer func() { err = errors.Join(err, r.stop(ctx)) }()
	r.models.setTurns(min(load.Turns, warmUpTurns))
	if err := r.agents(ctx, "warm-up", 1, 1); err != nil {
		return outcome, err
	}
	if err := ready(ctx); err != nil {
		return outcome, err
	}
	return r.measure(ctx)
}

// run is an engine with an in-process model and tool.
type run struct {
	load   Load
	engine *engine.Router
	models *models
	tools  *tools
	// cancel ends the engine's ownership.
	cancel context.CancelFunc
	owning *errgroup.Group
	ended  chan ended
	took   []time.Duration
	failed int
	// samples are taken while measuring is set.
	measuring bool
	samples   []Sample
}

// ended is the outcome of an agent.
type ended struct {
	uid       string
	succeeded bool
}

func (r *run) start(ctx context.Context, store ledger.Ledger) (err error) {
	if r.models, err = newModels(); err != nil {
		return err
	}
	if r.tools, err = newTools(r.load.ResultBytes, r.afterCall); err != nil {
		return err
	}
	scheduler := schedule.New(schedule.Options{})
	scheduler.SetProvider(schedule.Provider{Name: provider, Concurrent: 20_000})
	r.engine = engine.NewRouter(engine.Options{
		Ledger: store, Scheduler: scheduler, Models: r.models, Tools: r.tools, CallContext: r.models.scope,
		Random: rand.Float64, AwaitRecovery: true, Name: "bench",
		Changed: func(c engine.Change) {
			if c.After.Phase.Terminal() && !c.Before.Phase.Terminal() {
				r.ended <- ended{uid: c.Agent.UID, succeeded: c.After.Outcome.Succeeded()}
			}
		},
	}, r.load.Shards)
	holding, cancel := context.WithCancel(ctx)
	r.cancel, r.owning = cancel, new(errgroup.Group)
	for i := range r.engine.Shards() {
		e := r.engine.Engine(i)
		if err := e.Acquire(ctx, nil); err != nil {
			return err
		}
		if _, err := e.Recover(ctx); err != nil {
			return err
		}
		r.owning.Go(func() error { return e.OwnShard(holding) })
	}
	return nil
}

func (r *run) stop(ctx context.Context) error {
	r.cancel()
	draining, cancel := context.WithTimeout(context.WithoutCancel(ctx), 20*time.Second)
	defer cancel()
	return errors.Join(r.owning.Wait(), r.engine.Close(draining))
}

func (r *run) measure(ctx context.Context) (Outcome, error) {
	runtime.GC()
	if err := measure.ResetPeak(); err != nil {
		return Outcome{}, err
	}
	saidBefore, sawBefore, compacted := r.models.replyBytes.Load(), r.tools.bytes.Load(), r.models.compactions.Load()
	r.took, r.failed, r.measuring = nil, 0, true
	r.tools.calls.Store(0)
	r.models.setTurns(r.load.Turns)
	first, err := r.sample()
	if err != nil {
		return Outcome{}, err
	}
	r.samples = []Sample{first}
	if err := r.agents(ctx, "agent", r.load.Agents, r.load.AtOnce); err != nil {
		return Outcome{}, err
	}
	last, err := r.sample()
	if err != nil {
		return Outcome{}, err
	}
	memory, err := measure.ResidentMemory(os.Getpid())
	return Outcome{
		Began: first.At, Wall: last.At.Sub(first.At), CPU: last.CPU - first.CPU, PeakRSS: memory.Peak, Failures: r.failed, Took: r.took,
		UniqueBytes: int64(r.load.Agents)*r.models.firstRequestBytes.Load() + r.models.replyBytes.Load() - saidBefore + r.tools.bytes.Load() - sawBefore,
		Compactions: r.models.compactions.Load() - compacted, Samples: r.samples,
	}, err
}

func (r *run) agents(ctx context.Context, prefix string, n, atOnce int) error {
	began := map[string]time.Time{}
	begin := func(i int) error {
		uid := string(uuid.NewUUID()) // as long as an object's UID
		began[uid] = time.Now()
		return r.startAgent(uid, fmt.Sprintf("%s-%d", prefix, i), i)
	}
	next := 0
	for ; next < min(n, atOnce); next++ {
		if err := begin(next); err != nil {
			return err
		}
	}
	for done := 0; done < n; done++ {
		select {
		case e := <-r.ended:
			r.took = append(r.took, time.Since(began[e.uid]))
			if !e.succeeded {
				r.failed++
			}
		case <-ctx.Done():
			return fmt.Errorf("%d of %d agents did not end: %w", n-done, n, context.Cause(ctx))
		}
		if next < n {
			if err := begin(next); err != nil {
				return err
			}
			next++
		}
	}
	return nil
}

const namespaceUID = "6f1c1c5e-8f0e-4b6e-9d53-3f0f8a1f2b6d"

// startAgent starts an agent with the configuration that controllers resolve for a standalone task.
func (r *run) startAgent(uid, name string, number int) error {
	context := r.load.ContextTokens
	if context == 0 {
		context = model.DefaultContextTokens
	}
	return r.engine.Start(ledger.Agent{
		UID: uid, Kind: "SubAgent", Namespace: "bench", NamespaceUID: namespaceUID, Name: name, Root: uid, Role: Role, Depth: 1, ShardHash: shard.Hash(uid),
		Provider: provider, Model: modelName, CreatedAt: time.Now(),
	}, agent.Started{Config: agent.Config{
		Kind: agent.SubAgent, Name: name, Depth: 1, MaxDepth: 2, Provider: provider, Model: modelName, Generation: 1,
		Role:   agent.Role{Name: Role, Prompt: "You work.", Allow: []string{"bench__*"}},
		Task:   agent.Task{Instruction: fmt.Sprintf("Work %d", number)},
		Tools:  r.tools.specs(),
		Limits: agent.Limits{MaxIterations: 2 * (r.load.Turns + 1), MaxDuration: 86_400_000, ContextTokens: context, MaxRepeats: 5},
	}})
}

// afterCall takes the samples. Only loads with a single agent at a time have samples in between, so it needs no lock.
func (r *run) afterCall(call int64) {
	if every := r.load.SampleEvery; !r.measuring || every == 0 || call%every != 0 {
		return
	}
	if s, err := r.sample(); err == nil { // the first sample has checked for errors
		r.samples = append(r.samples, s)
	}
}

func (r *run) sample() (Sample, error) {
	used, err := measure.OwnCPU()
	return Sample{At: time.Now(), CPU: used, Sent: r.models.requestBytes.Load()}, err
}
