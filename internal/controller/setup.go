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

	"github.com/prometheus/client_golang/prometheus"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/controller/agentchat"
	"github.com/nestor-dev/nestor/internal/controller/agentmessage"
	"github.com/nestor-dev/nestor/internal/controller/agentquota"
	"github.com/nestor-dev/nestor/internal/controller/agentrole"
	"github.com/nestor-dev/nestor/internal/controller/agenttask"
	"github.com/nestor-dev/nestor/internal/controller/backend"
	"github.com/nestor-dev/nestor/internal/controller/modelprovider"
	"github.com/nestor-dev/nestor/internal/controller/poke"
	"github.com/nestor-dev/nestor/internal/controller/resolve"
	"github.com/nestor-dev/nestor/internal/controller/run"
	"github.com/nestor-dev/nestor/internal/controller/subagent"
	"github.com/nestor-dev/nestor/internal/controller/toolserver"
	"github.com/nestor-dev/nestor/internal/controller/workspace"
	"github.com/nestor-dev/nestor/internal/engine"
	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/metrics"
	"github.com/nestor-dev/nestor/internal/model"
	"github.com/nestor-dev/nestor/internal/model/schedule"
	"github.com/nestor-dev/nestor/internal/outbound"
	"github.com/nestor-dev/nestor/internal/telemetry"
	"github.com/nestor-dev/nestor/internal/tool/builtin"
	"github.com/nestor-dev/nestor/internal/tool/mcp"
	"github.com/nestor-dev/nestor/internal/tool/workspace/pod"
	"github.com/nestor-dev/nestor/internal/version"
)

// Options say how the controllers work.
type Options struct {
	// OperatorNamespace is where shared roles, providers and tool servers stand.
	OperatorNamespace string
	// Ledger keeps the history of every agent.
	Ledger ledger.Ledger
	// Metrics is where the operator's own metrics are registered; nil keeps them to itself.
	Metrics prometheus.Registerer
	// Observer hears what agents do while they do it; nil: nobody does.
	Observer Observer
	// WorkspaceImage is the image of workspace pods; without it, chats with such a workspace wait.
	WorkspaceImage string
	// WorkspaceEgress is what workspace pods may connect to besides their git server, and WorkspaceMaxSize bounds their files; zero is the
	// default.
	WorkspaceEgress  []networkingv1.NetworkPolicyEgressRule
	WorkspaceMaxSize resource.Quantity
	// OperatorLabels are those of the operator's own pods: only they may connect to workspaces. None: DefaultLabels.
	OperatorLabels map[string]string
	// LocalWorkspaces are the directories of this machine in which workspaces may be, and WorkspaceScratch is where their
	// commands have their homes.
	LocalWorkspaces  []string
	WorkspaceScratch string
	// LedgerNamespaceQuota is how many bytes of the ledger the agents of a namespace may take; 0 is no limit.
	LedgerNamespaceQuota int64
	// IdleAfter is how long an agent that waits stays in memory; 0 is 15 seconds.
	IdleAfter time.Duration
	// AllowLoopbackEndpoints lets ModelProviders and ToolServers name this machine: for local mode and tests.
	AllowLoopbackEndpoints bool
	// Telemetry tells OpenTelemetry what agents do; nil tells nothing.
	Telemetry *telemetry.Telemetry
	// Holder is the name of this operator, for others that work with the same ledger.
	Holder string
	// Reached is the engine's; see there.
	Reached func(engine.Point)
}

// Cache narrows a manager's cache to what the controllers need. Use it for a manager that Setup is given.
//
// Nobody here reads who manages which field, and that is a third of a small object: without it the cache is smaller, and so is every
// update. The API server takes its own record then.
func Cache(options cache.Options) cache.Options {
	options.DefaultTransform = cache.TransformStripManagedFields()
	return workspace.Cache(options)
}

// DefaultLabels are those that the operator's pods have unless it was told otherwise.
func DefaultLabels() map[string]string {
	return map[string]string{"app.kubernetes.io/name": "nestor-operator"}
}

// countIn makes the metrics, in a registry that nobody reads if none is given.
func countIn(registry prometheus.Registerer) (*metrics.Metrics, error) {
	if registry == nil {
		registry = prometheus.NewRegistry()
	}
	counted, err := metrics.New(registry)
	if err != nil {
		return nil, fmt.Errorf("register the metrics: %w", err)
	}
	return counted, nil
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

// The operator that leads holds a lease in its own namespace.
// +kubebuilder:rbac:groups=coordination.k8s.io,resources=leases,verbs=get;create;update,namespace=nestor-system

// Setup registers all controllers, and the engine, with a manager.
func Setup(mgr ctrl.Manager, options Options) error {
	observer := options.Observer
	if observer == nil {
		observer = nobody{}
	}
	finder := resolve.Finder{Reader: mgr.GetClient(), Live: mgr.GetAPIReader(), OperatorNamespace: options.OperatorNamespace, Secrets: &resolve.Secrets{}, Absent: &resolve.Absent{}}
	wake := &wakers{chats: poke.New(), messages: poke.New(), tasks: poke.New(), agents: poke.New(), servers: poke.New()}
	chats, tasks, agents := &run.Lacking{Queue: wake.chats}, &run.Lacking{Queue: wake.tasks}, &run.Lacking{Queue: wake.agents}
	references := &run.References{Cache: mgr.GetCache(), OperatorNamespace: options.OperatorNamespace, Lacking: []*run.Lacking{chats, tasks, agents}}
	reach := outbound.Options{AllowLoopback: options.AllowLoopbackEndpoints}
	pool := mcp.NewPool(mcp.Options{Version: version.String(), HTTP: options.Telemetry.Transport(outbound.New(reach)), Changed: func(key mcp.Key) {
		wake.servers.Add(types.NamespacedName{Namespace: key.Namespace, Name: key.Server})
		references.Retry("")
	}})
	counted, err := countIn(options.Metrics)
	if err != nil {
		return err
	}
	workspaces, err := newWorkspaces(mgr, options, references.Retry)
	if err != nil {
		return err
	}
	scheduler := schedule.New(schedule.Options{Observer: counted})
	tools := &backend.Tools{Finder: finder, Pool: pool, Workspaces: workspaces, Results: backend.WholeOutputs{Ledger: options.Ledger}}
	atOnce, err := builtin.New(builtin.Options{}) // those that need nothing from outside
	if err != nil {
		return fmt.Errorf("make the built-in tools: %w", err)
	}
	quotas, quotaUsed := backend.Quotas{Reader: mgr.GetClient()}, poke.New()
	c, runner, lost := mgr.GetClient(), &run.Runner{}, &suspects{}
	log := mgr.GetLogger().WithName("engine")
	eng := engine.New(engine.Options{
		Ledger: counted.Timed(options.Ledger), Scheduler: scheduler, Tools: tools, AtOnce: atOnce,
		Models:        &backend.Models{Finder: finder, Scheduler: scheduler, Outbound: reach, Transport: options.Telemetry.Transport},
		Crews:         backend.Crews{Reader: mgr.GetClient()}.Of,
		Random:        rand.Float64,
		AwaitRecovery: true,
		Holder:        options.Holder,
		Quotas:        quotas,
		MayAct:        backend.Roles{Finder: finder}.MayAct,
		NamespaceUID:  finder.KnownNamespaceUID,
		LedgerQuota:   options.LedgerNamespaceQuota,
		QuotaUsed:     func(namespace string) { quotaUsed.AddSoon(agentquota.Namespace(namespace)) },
		TakesOver: func(ctx context.Context, a ledger.Agent) bool {
			there, err := runner.HasObject(ctx, a, false)
			if err == nil && !there {
				lost.add(a)
			}
			return err != nil || there // what cannot be judged goes on
		},
		Reached: options.Reached,
		Called:  counted.Called,
		Queued:  wake.waits,
		Recorded: func(c engine.Change) {
			counted.Recorded(c)
			options.Telemetry.Recorded(c)
			if c.Gone {
				wake.asked(c.Agent) // what it asked is asked no more
			}
		},
		Scope:  options.Telemetry.Scope,
		Listen: observer.Listen,
		Trouble: func(err error) {
			counted.Trouble()
			log.Error(err, "An agent cannot go on")
		},
		Changed: func(c engine.Change) {
			observer.Changed(c.Agent)
			wake.changed(c)
			if atWork(c.Before) != atWork(c.After) {
				quotaUsed.AddSoon(agentquota.Namespace(c.Agent.Namespace))
			}
		},
		Blocked: wake.blocked,
	})
	wake.known = eng.Known
	if options.Metrics != nil {
		for _, collector := range []prometheus.Collector{metrics.Engine{Stats: eng.Stats}, metrics.Ledger{Stats: options.Ledger.Stats}} {
			if err := options.Metrics.Register(collector); err != nil {
				return fmt.Errorf("register %T: %w", collector, err)
			}
		}
	}
	if err := run.Index(context.Background(), mgr.GetFieldIndexer()); err != nil {
		return err
	}
	for _, runnable := range []manager.Runnable{references, driver{engine: eng, workspaces: workspaces, idle: options.IdleAfter, suspects: lost, hasObject: runner.HasObject, wake: func(ctx context.Context) error { return wake.all(ctx, c) }}, closer{pool}} {
		if err := mgr.Add(runnable); err != nil {
			return fmt.Errorf("add %T: %w", runnable, err)
		}
	}
	*runner = run.Runner{Client: c, Engine: eng, Finder: finder, Tools: tools, Ledger: options.Ledger, LedgerName: options.Ledger.Name(),
		Events: mgr.GetEventRecorder("nestor-operator"), Pace: run.NewPace(), Quotas: quotas}
	messages := &agentmessage.Reconciler{Client: c, Runner: runner, Changed: wake.messages, Blocked: wake.blocked}
	wake.chatBegan = messages.ChatBegan
	for _, reconciler := range []interface{ SetupWithManager(ctrl.Manager) error }{
		&agentquota.Reconciler{Client: c, Engine: eng, Used: quotaUsed, Retry: references.Retry},
		&agentrole.Reconciler{Client: c, Finder: finder},
		&modelprovider.Reconciler{Client: c, Finder: finder, Transport: outbound.New(reach)},
		&toolserver.Reconciler{Client: c, Finder: finder, Pool: pool, Changed: wake.servers},
		&agentchat.Reconciler{Client: c, Runner: runner, Changed: wake.chats, Known: &run.Known{Engine: eng, Find: runner.Find, Kind: "AgentChat"}, Lacking: chats},
		messages,
		&agenttask.Reconciler{Client: c, Runner: runner, Changed: wake.tasks, Known: &run.Known{Engine: eng, Find: runner.Find, Kind: "AgentTask"}, Lacking: tasks},
		&subagent.Reconciler{Client: c, Runner: runner, Changed: wake.agents, Known: &run.Known{Engine: eng, Find: runner.Find, Kind: "SubAgent"}, Lacking: agents},
		&workspace.Reconciler{Client: c, Workspaces: workspaces, WhileAtWork: runner.WhileAtWork},
	} {
		if err := reconciler.SetupWithManager(mgr); err != nil {
			return fmt.Errorf("set up %T: %w", reconciler, err)
		}
	}
	return nil
}

func newWorkspaces(mgr ctrl.Manager, options Options, retry func(namespace string)) (*workspace.Workspaces, error) {
	labels := options.OperatorLabels
	if len(labels) == 0 {
		labels = DefaultLabels()
	}
	return workspace.New(workspace.Options{
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Image: options.WorkspaceImage,
		Operator: pod.Peer{Namespace: options.OperatorNamespace, Labels: labels},
		Egress:   options.WorkspaceEgress, MaxSize: options.WorkspaceMaxSize,
		LocalRoots: options.LocalWorkspaces, Scratch: options.WorkspaceScratch, Retry: retry,
		HTTP: options.Telemetry.Transport(nil),
	})
}

// closer ends the sessions with tool servers.
type closer struct{ pool *mcp.Pool }

// Start implements manager.Runnable.
func (c closer) Start(ctx context.Context) error {
	<-ctx.Done()
	return c.pool.Close(context.WithoutCancel(ctx))
}

// atWork says whether an agent is one of those that a quota of active agents counts.
func atWork(s agent.State) bool {
	return s.Config.Kind == agent.SubAgent && s.Standing() == agent.StandingActive
}
