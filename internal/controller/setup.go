// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package controller puts Nestor's controllers and the engine together. Each kind has a package of its own; resolve finds what
// objects refer to, backend gives the engine its models and tools, and run is what chats, tasks and sub-agents share.
package controller

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/nestor-dev/nestor/internal/controller/agentchat"
	"github.com/nestor-dev/nestor/internal/controller/agentmessage"
	"github.com/nestor-dev/nestor/internal/controller/agentrole"
	"github.com/nestor-dev/nestor/internal/controller/agenttask"
	"github.com/nestor-dev/nestor/internal/controller/backend"
	"github.com/nestor-dev/nestor/internal/controller/modelprovider"
	"github.com/nestor-dev/nestor/internal/controller/poke"
	"github.com/nestor-dev/nestor/internal/controller/resolve"
	"github.com/nestor-dev/nestor/internal/controller/run"
	"github.com/nestor-dev/nestor/internal/controller/subagent"
	"github.com/nestor-dev/nestor/internal/controller/toolserver"
	"github.com/nestor-dev/nestor/internal/engine"
	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/model"
	"github.com/nestor-dev/nestor/internal/model/schedule"
	"github.com/nestor-dev/nestor/internal/tool/mcp"
	"github.com/nestor-dev/nestor/internal/version"
)

// Options say how the controllers work.
type Options struct {
	// OperatorNamespace is where shared roles, providers and tool servers stand.
	OperatorNamespace string
	// Ledger keeps the history of every agent.
	Ledger ledger.Ledger
	// Observer hears what agents do while they do it; nil: nobody does.
	Observer Observer
	// IdleAfter is how long an agent that waits stays in memory; 0 is a minute.
	IdleAfter time.Duration
}

// Observer hears what agents do while they do it. Its methods must not block.
type Observer interface {
	// Changed is told of an agent whose state has moved on.
	Changed(a ledger.Agent)
	// Listen is told the pieces of a reply while they stream in, with the ledger's key of the model call.
	Listen(uid, call string, piece model.Delta)
}

// nobody is an observer that does not listen.
type nobody struct{}

func (nobody) Changed(ledger.Agent)               {}
func (nobody) Listen(string, string, model.Delta) {}

// drainTimeout is how long effects in flight may take to finish when the operator stops.
const drainTimeout = 20 * time.Second

// Setup registers all controllers, and the engine, with a manager.
func Setup(mgr ctrl.Manager, options Options) error {
	observer := options.Observer
	if observer == nil {
		observer = nobody{}
	}
	finder := resolve.Finder{Reader: mgr.GetClient(), Live: mgr.GetAPIReader(), OperatorNamespace: options.OperatorNamespace}
	chats, tasks, agents, servers := poke.New(), poke.New(), poke.New(), poke.New()
	pool := mcp.NewPool(mcp.Options{Version: version.String(), Changed: func(key mcp.Key) {
		servers.Add(types.NamespacedName{Namespace: key.Namespace, Name: key.Server})
	}})
	scheduler := schedule.New(schedule.Options{})
	tools := &backend.Tools{Finder: finder, Pool: pool, Results: backend.WholeOutputs{Ledger: options.Ledger}}
	log := mgr.GetLogger().WithName("engine")
	eng := engine.New(engine.Options{
		Ledger: options.Ledger, Scheduler: scheduler, Tools: tools, Models: &backend.Models{Finder: finder, Scheduler: scheduler},
		Random:        rand.Float64,
		AwaitRecovery: true,
		Listen:        observer.Listen,
		Trouble:       func(err error) { log.Error(err, "An agent cannot go on") },
		Changed: func(a ledger.Agent) {
			observer.Changed(a)
			name := types.NamespacedName{Namespace: a.Namespace, Name: a.Name}
			switch a.Kind {
			case "AgentChat":
				chats.Add(name)
				return
			case "SubAgent":
				agents.Add(name)
			}
			tasks.Add(name)
			if a.Chat != "" { // what it asks for, or no longer does, is shown in the chat
				chats.Add(types.NamespacedName{Namespace: a.Namespace, Name: a.Chat})
			}
		},
	})
	for _, runnable := range []manager.Runnable{chats, tasks, agents, servers, driver{engine: eng, idle: options.IdleAfter}, closer{pool}} {
		if err := mgr.Add(runnable); err != nil {
			return fmt.Errorf("add %T: %w", runnable, err)
		}
	}
	c := mgr.GetClient()
	runner := &run.Runner{Client: c, Engine: eng, Finder: finder, Tools: tools}
	for _, reconciler := range []interface{ SetupWithManager(ctrl.Manager) error }{
		&agentrole.Reconciler{Client: c, Finder: finder},
		&modelprovider.Reconciler{Client: c, Finder: finder},
		&toolserver.Reconciler{Client: c, Finder: finder, Pool: pool, Changed: servers},
		&agentchat.Reconciler{Client: c, Runner: runner, Changed: chats, Known: &run.Known{Engine: eng}},
		&agentmessage.Reconciler{Client: c, Runner: runner},
		&agenttask.Reconciler{Client: c, Runner: runner, Changed: tasks, Known: &run.Known{Engine: eng}},
		&subagent.Reconciler{Client: c, Runner: runner, Changed: agents, Known: &run.Known{Engine: eng}},
	} {
		if err := reconciler.SetupWithManager(mgr); err != nil {
			return fmt.Errorf("set up %T: %w", reconciler, err)
		}
	}
	return nil
}

// driver takes over the agents of the operator that was at work before, keeps memory free of those that only wait, and
// lets what is in flight finish at the end. It runs in the leader alone.
type driver struct {
	engine *engine.Engine
	idle   time.Duration
}

// Start implements manager.Runnable.
func (d driver) Start(ctx context.Context) error {
	if _, err := d.engine.Recover(ctx); err != nil {
		return fmt.Errorf("take over the live agents: %w", err)
	}
	idle := d.idle
	if idle == 0 {
		idle = time.Minute
	}
	ticker := time.NewTicker(idle)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			d.engine.Evict(idle)
		case <-ctx.Done():
			draining, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTimeout)
			defer cancel()
			return d.engine.Close(draining)
		}
	}
}

// closer ends the sessions with tool servers.
type closer struct{ pool *mcp.Pool }

// Start implements manager.Runnable.
func (c closer) Start(ctx context.Context) error {
	<-ctx.Done()
	return c.pool.Close(context.WithoutCancel(ctx))
}
