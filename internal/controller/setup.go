// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Package controller connects Nestor's controllers with the engine. Each kind has a package of its own; resolve looks
// up referenced objects, backend provides the engine with models and tools, and agents is shared by chats, tasks and
// sub-agents.
package controller

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/agent"
	"github.com/nestor-dev/nestor/internal/cluster"
	"github.com/nestor-dev/nestor/internal/cluster/resolve"
	"github.com/nestor-dev/nestor/internal/controller/agentchat"
	"github.com/nestor-dev/nestor/internal/controller/agentconfig"
	"github.com/nestor-dev/nestor/internal/controller/agentevaluation"
	"github.com/nestor-dev/nestor/internal/controller/agentmessage"
	"github.com/nestor-dev/nestor/internal/controller/agentquota"
	"github.com/nestor-dev/nestor/internal/controller/agentrole"
	"github.com/nestor-dev/nestor/internal/controller/agents"
	"github.com/nestor-dev/nestor/internal/controller/agenttrigger"
	"github.com/nestor-dev/nestor/internal/controller/backend"
	"github.com/nestor-dev/nestor/internal/controller/endpoint"
	"github.com/nestor-dev/nestor/internal/controller/modelprovider"
	"github.com/nestor-dev/nestor/internal/controller/notify"
	"github.com/nestor-dev/nestor/internal/controller/status"
	"github.com/nestor-dev/nestor/internal/controller/toolpolicy"
	"github.com/nestor-dev/nestor/internal/controller/toolserver"
	"github.com/nestor-dev/nestor/internal/controller/workspace"
	"github.com/nestor-dev/nestor/internal/engine"
	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/login"
	"github.com/nestor-dev/nestor/internal/metrics"
	"github.com/nestor-dev/nestor/internal/model"
	"github.com/nestor-dev/nestor/internal/model/schedule"
	"github.com/nestor-dev/nestor/internal/outbound"
	"github.com/nestor-dev/nestor/internal/replicas"
	"github.com/nestor-dev/nestor/internal/telemetry"
	"github.com/nestor-dev/nestor/internal/tool/builtin"
	"github.com/nestor-dev/nestor/internal/tool/mcp"
	"github.com/nestor-dev/nestor/internal/tool/workspace/pod"
	"github.com/nestor-dev/nestor/internal/version"
)

// Options configure the controllers.
type Options struct {
	// OperatorNamespace is the namespace of shared roles, providers and tool servers.
	OperatorNamespace string
	// Ledger stores the history of every agent.
	Ledger ledger.Ledger
	// Metrics is the registry for the operator's own metrics. If nil, they are not exported.
	Metrics prometheus.Registerer
	// Observer receives changes of agents and streamed replies; optional.
	Observer Observer
	// WorkspaceImage is the image of workspace pods. Without it, chats that need a workspace pod wait.
	WorkspaceImage string
	// WorkspaceEgress lists the destinations that workspace pods may connect to besides their git server. WorkspaceMaxSize
	// bounds their files; zero means the default.
	WorkspaceEgress  []networkingv1.NetworkPolicyEgressRule
	WorkspaceMaxSize resource.Quantity
	// WorkspaceAllow has the runtimes and nodes that workspaces may ask for.
	WorkspaceAllow workspace.Placements
	// PrivateGitServers are the git servers with private addresses that workspaces may use.
	PrivateGitServers workspace.Servers
	// OperatorLabels are the labels of the operator's own pods, which alone may connect to workspaces. The default is
	// DefaultLabels.
	OperatorLabels map[string]string
	// APIKeyDir is the directory of keys in files, with a directory for each namespace; empty means that there are none.
	APIKeyDir string
	// LocalWorkspaces are the directories of this machine that may contain workspaces. WorkspaceScratch contains the home
	// directories of their commands.
	LocalWorkspaces  []string
	WorkspaceScratch string
	// OwnWorkspace returns the directory that a run uses instead of the one in its spec; nil uses the one in the spec.
	OwnWorkspace func(path string, owner client.Object) (string, error)
	// LedgerNamespaceQuota limits the bytes of ledger that the agents of a namespace may use; 0 means no limit.
	LedgerNamespaceQuota int64
	// IdleAfter is how long a waiting agent stays in memory; 0 means 15 seconds.
	IdleAfter time.Duration
	// AllowLoopbackEndpoints permits ModelProviders and ToolServers on loopback addresses, for local mode and tests.
	AllowLoopbackEndpoints bool
	// Telemetry exports spans and metrics through OpenTelemetry; optional.
	Telemetry *telemetry.Telemetry
	// Holder identifies this process among the operators of the ledger; see replicas.NewID.
	Holder string
	// Shards is the number of shards into which the ledger is divided, so that several operators share the work. 0 means
	// that one operator owns the whole ledger. All operators of a ledger must use the same number.
	Shards int
	// Replica is this operator's part in the division of the shards.
	Replica Replica
	// Notifications delivers notifications; nil if the operator does not.
	Notifications *notify.Reconciler
	// Logins stores the logins of people at tool servers; nil if people cannot log in. PageURL is where people reach the web
	// page.
	Logins  *login.Store
	PageURL string
	// Reached is called at the points at which tests crash the process; optional.
	Reached func(engine.Point)
}

// Replica describes an operator to the others of its installation.
type Replica struct {
	// Name is the name of the pod, which it keeps after a restart, and Address is where the other operators reach it;
	// empty if they cannot.
	Name, Address string
	// Fingerprint is that of the key with which it authenticates itself to the other operators; empty if they cannot reach
	// it.
	Fingerprint string
	// LeaseDuration overrides the default.
	LeaseDuration time.Duration
}

type Controllers struct {
	// Logins logs people in to tool servers; nil if people cannot log in.
	Logins *login.Service
	Engine *engine.Router
	// Replicas divides the shards.
	Replicas *replicas.Replicas
	// Triggers records firings of triggers.
	Triggers   *agenttrigger.Recorder
	Workspaces *workspace.Workspaces
	// Finder looks up references.
	Finder resolve.Finder
}

// Cache restricts a manager's cache to what the controllers need. Use it for the manager that is passed to Setup.
//
// Managed fields are stripped: no controller reads them, and they are a third of a small object. The API server keeps
// its own record when an update has none.
func Cache(options cache.Options) cache.Options {
	options.DefaultTransform = cache.TransformStripManagedFields()
	return agentrole.Cache(workspace.Cache(options))
}

// DefaultLabels returns the labels of the operator's pods in the default installation.
func DefaultLabels() map[string]string {
	return map[string]string{"app.kubernetes.io/name": "nestor-operator"}
}

// newMetrics returns metrics registered with registry, or with a private registry if it is nil.
func newMetrics(registry prometheus.Registerer) (*metrics.Metrics, error) {
	if registry == nil {
		registry = prometheus.NewRegistry()
	}
	counted, err := metrics.New(registry)
	if err != nil {
		return nil, fmt.Errorf("register the metrics: %w", err)
	}
	return counted, nil
}

// register adds collectors to the metrics, if they are exported.
func register(registry prometheus.Registerer, collectors ...prometheus.Collector) error {
	if registry == nil {
		return nil
	}
	for _, collector := range collectors {
		if err := registry.Register(collector); err != nil {
			return fmt.Errorf("register %T: %w", collector, err)
		}
	}
	return nil
}

// Observer receives changes of agents as they happen. Its methods must not block.
type Observer interface {
	// Changed is called when the state of an agent has changed.
	Changed(a ledger.Agent)
	// OnDelta is called with each delta of a streamed reply and the ledger's key of the model call.
	OnDelta(uid, call string, piece model.Delta)
}

// noObserver is an Observer that ignores everything.
type noObserver struct{}

func (noObserver) Changed(ledger.Agent)                {}
func (noObserver) OnDelta(string, string, model.Delta) {}

// A Lease in the operator's namespace is the heartbeat, and another one elects a leader.
// +kubebuilder:rbac:groups=coordination.k8s.io,resources=leases,verbs=get;create;update,namespace=nestor-system

// Setup registers all controllers, and the engine, with a manager.
func Setup(mgr ctrl.Manager, options Options) (*Controllers, error) {
	options.Replica.Name = cmp.Or(options.Replica.Name, "operator")
	options.Holder = cmp.Or(options.Holder, replicas.NewID(options.Replica.Name))
	observer := options.Observer
	if observer == nil {
		observer = noObserver{}
	}
	if options.Reached == nil {
		options.Reached = func(engine.Point) {}
	}
	c := cluster.NewClient(mgr.GetClient())
	objects := cluster.Reader{Cache: c, API: cluster.NewLive(mgr.GetAPIReader())}
	finder := resolve.Finder{Reader: c, Live: objects.API, OperatorNamespace: options.OperatorNamespace, Secrets: &resolve.Secrets{}, Revisions: &resolve.Revisions{}, Absent: &resolve.Absences{}}
	wake := &wakers{chats: cluster.NewQueue(), messages: cluster.NewQueue(), tasks: cluster.NewQueue(), agents: cluster.NewQueue(), servers: cluster.NewQueue(), providers: cluster.NewQueue(), roles: cluster.NewQueue(), quotas: cluster.NewQueue(), triggers: cluster.NewQueue(), policies: cluster.NewQueue(), evaluations: cluster.NewQueue(), workspacePods: cluster.NewQueue()}
	wake.unreported = &cluster.Unresolved{Queue: wake.tasks}
	chats, tasks, subAgents := &cluster.Unresolved{Queue: wake.chats}, &cluster.Unresolved{Queue: wake.tasks}, &cluster.Unresolved{Queue: wake.agents}
	references := &cluster.References{Cache: mgr.GetCache(), OperatorNamespace: options.OperatorNamespace, Unresolved: []*cluster.Unresolved{chats, tasks, subAgents}}
	reach := outbound.Options{AllowLoopback: options.AllowLoopbackEndpoints}
	transport := options.Telemetry.Transport(outbound.New(reach))
	var logins *login.Service
	if options.Logins != nil {
		logins = login.New(options.Logins, transport, options.PageURL)
	}
	pool := mcp.NewPool(mcp.Options{Version: version.String(), HTTP: transport, Changed: func(key mcp.Key) {
		wake.servers.Add(toolserver.ServerOf(key))
		references.Retry("")
	}})
	counted, err := newMetrics(options.Metrics)
	if err != nil {
		return nil, err
	}
	workspaces, err := newWorkspaces(mgr, options, references.Retry)
	if err != nil {
		return nil, err
	}
	clients := &endpoint.Clients{Finder: finder, Outbound: reach, Transport: options.Telemetry.Transport, KeyDir: options.APIKeyDir,
		Delayed: &cluster.Delayed{Retry: references.Retry, Interval: 5 * time.Second}}
	keeper, notifier := newKeeper(mgr, options)
	scheduler := schedule.New(schedule.Options{Observer: counted, Shares: notifier})
	var eng *engine.Router
	tools := &backend.Tools{Finder: finder, Pool: pool, Reviews: c, Workspaces: workspaces, NextChange: references.Next, Logins: logins,
		Results: backend.FullOutputs{Ledger: options.Ledger, State: func(ctx context.Context, uid string) (agent.State, error) {
			return eng.View(ctx, uid)
		}}}
	atOnce, err := builtin.New(builtin.Options{}) // the tools without external dependencies
	if err != nil {
		return nil, fmt.Errorf("create the built-in tools: %w", err)
	}
	quotas, quotaUsed := backend.Quotas{Reader: c}, wake.quotas
	lost := &unconfirmed{}
	log := mgr.GetLogger().WithName("engine")
	// Without reads from the API server, except for a revision of a gated role that is not in memory.
	policies := toolpolicy.NewStore(resolve.Finder{Reader: c, Live: objects.API, Revisions: finder.Revisions, OperatorNamespace: options.OperatorNamespace}, wake.policies.Add)
	if err := policies.Watch(context.Background(), mgr.GetCache()); err != nil {
		return nil, err
	}
	denials := toolpolicy.Denials{Reader: c, Events: mgr.GetEventRecorder("nestor-operator")}
	trackers := map[string]*agents.Tracker{}
	eng = engine.NewRouter(engine.Options{
		Ledger: counted.Timed(options.Ledger), Scheduler: scheduler, Tools: tools, InlineTools: atOnce,
		Models:            &backend.Models{Finder: finder, Scheduler: scheduler, Clients: clients},
		SlotGroups:        backend.SlotGroups{Reader: c}.Of,
		Shares:            notifier,
		Random:            rand.Float64,
		AwaitRecovery:     true,
		Name:              options.Holder,
		Quotas:            quotas,
		Policies:          policies,
		MayAct:            backend.Roles{Finder: finder}.MayAct,
		NamespaceUID:      finder.KnownNamespaceUID,
		LedgerQuota:       options.LedgerNamespaceQuota,
		QuotaUsageChanged: func(namespace string) { quotaUsed.AddDelayed(agentquota.Namespace(namespace)) },
		ShouldTakeOver: func(ctx context.Context, a ledger.Agent) bool {
			there, err := objects.HasObject(ctx, a, false)
			if err == nil && !there {
				lost.add(a)
			}
			if there {
				trackers[a.Kind].Add(types.NamespacedName{Namespace: a.Namespace, Name: a.Name}, types.UID(a.UID))
			}
			return err != nil || there // after an error the agent continues
		},
		Deleted:       objects.Deleted,
		PointReached:  options.Reached,
		CallCompleted: counted.CallCompleted,
		QueuedChanged: wake.workChanged, ProgressChanged: wake.workChanged,
		Recorded: func(c engine.Change) {
			counted.Recorded(c)
			denials.Recorded(c)
			options.Telemetry.Recorded(c)
			if c.Deleted {
				wake.asksChanged(c.Agent) // its asks are resolved
			}
		},
		CallContext: options.Telemetry.CallContext,
		OnDelta:     observer.OnDelta,
		ReportError: func(err error) {
			counted.LedgerError()
			log.Error(err, "An agent cannot continue")
		},
		Changed: func(c engine.Change) {
			observer.Changed(c.Agent)
			wake.stepped(c)
			if isActive(c.Before) != isActive(c.After) {
				quotaUsed.AddDelayed(agentquota.Namespace(c.Agent.Namespace))
			}
		},
		BlockedChanged: wake.ledgerBlockChanged,
	}, options.Shards)
	gate := cluster.Gate{Engine: eng, Objects: objects}
	wake.find = eng.FindLive
	for _, kind := range []string{"AgentChat", "AgentTask", "SubAgent"} {
		trackers[kind] = &agents.Tracker{Engine: eng, Find: objects.Find, Kind: kind}
	}
	if err := register(options.Metrics, metrics.Engine{Stats: eng.Stats}, metrics.Ledger{Stats: options.Ledger.Stats}); err != nil {
		return nil, err
	}
	if err := cluster.Index(context.Background(), mgr.GetFieldIndexer()); err != nil {
		return nil, err
	}
	dynamicClient, err := dynamic.NewForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return nil, fmt.Errorf("create the client of watches: %w", err)
	}
	evaluations := agenttrigger.NewEvaluator(wake.triggers.Add)
	watches := &agenttrigger.Watches{Dynamic: dynamicClient, Mapper: mgr.GetRESTMapper(), Client: c, Wake: wake.triggers.Add, Evaluations: evaluations}
	drive := &driver{router: eng, workspaces: workspaces, closers: []closer{eng, workspaces, pool, watches}, idle: options.IdleAfter, unconfirmed: lost, hasObject: objects.HasObject,
		waker: &shardWaker{log: mgr.GetLogger().WithName("shards"), enqueue: func(ctx context.Context, shards map[int]bool) error {
			return wake.wakeShards(ctx, gate, shards)
		}},
		takenOver: counted.ShardTakenOver,
		released: func(shard int) {
			counted.ShardReleased(func(hash int) bool { return eng.ShardOf(hash) == shard })
		}}
	firings := &agenttrigger.Recorder{Client: c, API: objects.API, Evaluations: evaluations, Events: mgr.GetEventRecorder("nestor-operator"), Reached: options.Reached}
	controllers := &Controllers{Engine: eng, Triggers: firings, Workspaces: workspaces, Finder: finder, Logins: logins}
	if drive.sharding, err = newSharding(mgr, options, drive.own); err != nil {
		return nil, err
	}
	controllers.Replicas = drive.sharding.replicas
	if err := register(options.Metrics, metrics.Replicas{Shards: max(options.Shards, 1), Stats: controllers.Replicas.Stats}); err != nil {
		return nil, err
	}
	runnables := []manager.Runnable{references, drive, manager.RunnableFunc(func(ctx context.Context) error { return c.Observe(ctx, mgr.GetCache()) })}
	if keeper != nil {
		keeper.Add(scheduler)
		keeper.Add(eng.SlotShares())
		runnables = append(runnables, keeper)
	}
	for _, runnable := range runnables {
		if err := mgr.Add(runnable); err != nil {
			return nil, fmt.Errorf("add %T: %w", runnable, err)
		}
	}
	settled := notify.Settled
	if options.Notifications == nil {
		settled = func(*v1beta1.AgentTask) bool { return true }
	}
	runner := &agents.Runner{
		Reader: objects, Client: c, Engine: eng, Gate: gate, Finder: finder,
		Config: &agentconfig.Resolver{Engine: eng, Finder: finder, Tools: tools, Clients: clients, Quotas: quotas},
		Status: &status.Writer{Client: c, Events: mgr.GetEventRecorder("nestor-operator"), Pace: status.NewPace()},
		Ledger: options.Ledger, LedgerName: options.Ledger.Name(), MessageTaken: wake.messages.Add, Settled: settled, Files: workspaces,
	}
	tools.Requesters = runner.RequestersOf
	messages := &agentmessage.Reconciler{Client: c, Runner: runner, Changed: wake.messages, Blocked: wake.ledgerBlockChanged}
	wake.chatBegan = messages.ChatStarted
	reconcilers := []interface{ SetupWithManager(ctrl.Manager) error }{
		&agentquota.Reconciler{Client: c, Engine: eng, Gate: gate, Used: quotaUsed, Retry: references.Retry},
		// Roles emit no Events: one that is applied before what it names is not ready for a moment.
		&agentrole.Reconciler{Client: c, Status: &status.Writer{Client: c}, Finder: finder, Gate: gate, Changed: wake.roles, Reached: options.Reached},
		&modelprovider.Reconciler{Client: c, Status: runner.Status, Finder: finder, Gate: gate, Changed: wake.providers, Clients: clients},
		&toolpolicy.Reconciler{Client: c, Status: runner.Status, Finder: finder, Gate: gate, Store: policies, Changed: wake.policies},
		&toolserver.Reconciler{Client: c, Status: runner.Status, Finder: finder, Gate: gate, Logins: logins, Pool: pool, Changed: wake.servers},
		&agentchat.Reconciler{Client: c, Runner: runner, Changed: wake.chats, Tracker: trackers["AgentChat"], Unresolved: chats},
		messages,
		&agents.Reconciler{Runner: runner, Changed: wake.tasks, Tracker: trackers["AgentTask"], Unresolved: tasks, Unreported: wake.unreported},
		&agents.Reconciler{Runner: runner, Changed: wake.agents, Tracker: trackers["SubAgent"], Unresolved: subAgents},
		&agenttrigger.Reconciler{Client: c, Recorder: firings, Finder: finder, Gate: gate, Changed: wake.triggers, Watches: watches, Settled: settled},
		&agentevaluation.Reconciler{Client: c, Live: objects.API, Status: runner.Status, Finder: finder, Gate: gate, Ledger: options.Ledger, Changed: wake.evaluations, Judged: counted.Judged, Reached: options.Reached},
		&workspace.Reconciler{Client: c, Workspaces: workspaces, Changed: wake.workspacePods, WhileActive: func(next reconcile.Reconciler) reconcile.Reconciler { return gate.Tree(&corev1.Pod{}, next) }},
	}
	if n := options.Notifications; n != nil {
		n.Client, n.Gate, n.Tasks, n.Chats = c, gate, cluster.NewQueue(), cluster.NewQueue()
		n.Sender.Secret, n.Events, n.OnSettled = finder.Secret, mgr.GetEventRecorder("nestor-operator"), wake.taskSettled
		wake.notifications = n.Wake
		reconcilers = append(reconcilers, n)
	}
	for _, reconciler := range reconcilers {
		if err := reconciler.SetupWithManager(mgr); err != nil {
			return nil, fmt.Errorf("set up %T: %w", reconciler, err)
		}
	}
	return controllers, nil
}

func newWorkspaces(mgr ctrl.Manager, options Options, retry func(namespace string)) (*workspace.Workspaces, error) {
	labels := options.OperatorLabels
	if len(labels) == 0 {
		labels = DefaultLabels()
	}
	return workspace.New(workspace.Options{
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Image: options.WorkspaceImage,
		Operator: pod.Peer{Namespace: options.OperatorNamespace, Labels: labels},
		Egress:   options.WorkspaceEgress, MaxSize: options.WorkspaceMaxSize, Allow: options.WorkspaceAllow, PrivateGitServers: options.PrivateGitServers,
		LocalRoots: options.LocalWorkspaces, OwnDirectory: options.OwnWorkspace, Scratch: options.WorkspaceScratch, Retry: retry,
		HTTP: options.Telemetry.Transport(nil), Ledger: options.Ledger, Events: mgr.GetEventRecorder("nestor-operator"),
	})
}

// isActive reports whether a quota of active agents counts an agent.
func isActive(s agent.State) bool {
	return s.Config.Kind == agent.SubAgent && s.Stage() == agent.StageActive
}
