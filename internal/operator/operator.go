// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	controllerconfig "sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/healthz"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/controller"
	"github.com/nestor-dev/nestor/internal/history"
	"github.com/nestor-dev/nestor/internal/history/live"
	"github.com/nestor-dev/nestor/internal/history/relay"
	"github.com/nestor-dev/nestor/internal/login"
	"github.com/nestor-dev/nestor/internal/metrics"
	"github.com/nestor-dev/nestor/internal/program"
	"github.com/nestor-dev/nestor/internal/push"
	"github.com/nestor-dev/nestor/internal/servingcert"
	"github.com/nestor-dev/nestor/internal/telemetry"
	"github.com/nestor-dev/nestor/internal/version"
)

// Options configure an operator. Config, Controllers.Ledger and Controllers.OperatorNamespace are required.
type Options struct {
	// Config is the configuration of the API server's client. New copies it.
	Config *rest.Config
	// Namespaces are the namespaces to watch; the operator's own is always added. If empty, all are watched.
	Namespaces []string
	// Controllers configure the controllers and the engine. New sets Telemetry and Observer.
	Controllers controller.Options
	// Service is the name of the program in OpenTelemetry; if empty, there is no telemetry.
	Service string
	// LeaderElection makes an operator that owns the whole ledger wait until it holds the lease.
	LeaderElection bool
	// MetricsAddress, ProbeAddress and ProfileAddress serve metrics, health probes and Go's profiles. Empty and "0" turn them off.
	MetricsAddress, ProbeAddress, ProfileAddress string
	// MetricsInsecure serves the metrics without TLS, and without asking readers for a token.
	MetricsInsecure bool
	// MaxWrites limits the writes of Nestor's objects in flight to the API server; 0 adapts to its response time.
	MaxWrites int
	// HistoryRetention and CallRetention are how long the histories of ended agents and the bodies of calls are kept; 0 means forever.
	HistoryRetention, CallRetention time.Duration
	// Live passes the changes of agents to the history API. Set it if another component of this process serves the history API.
	Live      *live.Hub
	History   History
	Gateway   Gateway
	Admission Admission
	// ReplicaAddress is the address to listen on for other replicas, which get live text there; empty and "0" turn it off. It needs shards, and
	// Controllers.Replica.Address must be the address by which they reach it.
	ReplicaAddress string
}

// Operator is an assembled operator that is not running yet.
type Operator struct {
	// History is the history API; nil if it is not served.
	History *history.Server

	options     Options
	manager     ctrl.Manager
	controllers *controller.Controllers
	telemetry   *telemetry.Telemetry
	identity    *relay.Identity     // nil without a relay
	keeper      *servingcert.Keeper // nil if nothing uses the operator's own certificate
	files       *servingcert.Files  // nil if nothing but the history API uses a certificate in files
	pushKeys    *push.Keyring       // nil without a gateway
}

// NewScheme returns a scheme with the kinds of Kubernetes and of Nestor.
func NewScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme)) // fails only if two kinds have the same name
	utilruntime.Must(v1beta1.AddToScheme(scheme))
	return scheme
}

// Run runs an operator until ctx ends.
func Run(ctx context.Context, options Options) error {
	o, err := New(ctx, options)
	if err != nil {
		return err
	}
	return o.Run(ctx)
}

// New assembles an operator. Its history API is already listening.
func New(ctx context.Context, options Options) (_ *Operator, err error) {
	o := &Operator{options: options}
	if o.options.Live == nil {
		o.options.Live = &live.Hub{}
	}
	config := rest.CopyConfig(options.Config)
	gate := limitWrites(config, options.MaxWrites)
	if o.manager, err = o.newManager(config); err != nil {
		return nil, err
	}
	if err := o.addChecks(); err != nil {
		return nil, err
	}
	if options.Service != "" {
		o.telemetry, err = telemetry.Start(ctx, telemetry.Options{Service: options.Service, Version: version.String(), Log: o.manager.GetLogger().WithName("telemetry")})
		if err != nil {
			return nil, fmt.Errorf("start OpenTelemetry: %w", err)
		}
	}
	defer func() {
		if err != nil {
			o.telemetry.Shutdown(context.WithoutCancel(ctx))
		}
	}()
	controllers := options.Controllers
	controllers.Telemetry, controllers.Observer = o.telemetry, o.options.Live
	if o.relays() {
		if o.identity, err = relay.NewIdentity(); err != nil {
			return nil, err
		}
		controllers.Replica.Fingerprint = o.identity.Fingerprint()
	}
	if controllers.Notifications, err = o.notifications(ctx); err != nil {
		return nil, err
	}
	if o.pushKeys != nil {
		controllers.Logins = &login.Store{Secrets: o.pushKeys.Secrets, Keys: o.pushKeys.Keys}
		controllers.PageURL = options.Gateway.PageURL
	}
	if o.controllers, err = controller.Setup(o.manager, controllers); err != nil {
		return nil, err
	}
	if err := o.register(metrics.Writes{Stats: gate.Stats}); err != nil {
		return nil, err
	}
	if err := o.serve(ctx); err != nil {
		return nil, err
	}
	if err := o.addHeartbeat(ctx); err != nil {
		return nil, err
	}
	kept := retention{controllers.Ledger, options.HistoryRetention, options.CallRetention, o.controllers.Engine.OwnsFirst, o.manager.GetLogger().WithName("retention")}
	if err := o.manager.Add(kept); err != nil {
		return nil, fmt.Errorf("add the retention of histories: %w", err)
	}
	return o, nil
}

// Run runs the operator until ctx ends. Call it once.
func (o *Operator) Run(ctx context.Context) error {
	defer o.telemetry.Shutdown(context.WithoutCancel(ctx))
	o.manager.GetLogger().Info("Starting", "version", version.String(),
		"operatorNamespace", o.options.Controllers.OperatorNamespace, "ledger", o.options.Controllers.Ledger.Name())
	return o.manager.Start(ctx)
}

func (o *Operator) newManager(config *rest.Config) (ctrl.Manager, error) {
	grace := 30 * time.Second
	// Controller names only distinguish metrics. Without metrics, a process may run one operator after another.
	skipNames := o.options.Controllers.Metrics == nil
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme: NewScheme(), Cache: o.cache(), Metrics: program.Metrics(o.options.MetricsAddress, o.options.MetricsInsecure),
		HealthProbeBindAddress: o.options.ProbeAddress, PprofBindAddress: o.options.ProfileAddress,
		LeaderElection: o.elects(), LeaderElectionID: leaseName, LeaderElectionNamespace: o.options.Controllers.OperatorNamespace,
		LeaderElectionReleaseOnCancel: true, GracefulShutdownTimeout: &grace, Controller: controllerconfig.Controller{SkipNameValidation: &skipNames},
	})
	if err != nil {
		return nil, fmt.Errorf("connect to the cluster: %w", err)
	}
	o.manager = mgr
	if !o.elects() {
		return mgr, nil
	}
	if err := mgr.Add(o.leaseOwner()); err != nil {
		return nil, fmt.Errorf("add the lease's owner: %w", err)
	}
	return mgr, nil
}

// elects reports whether the operator waits for leadership. Operators that share the work need no leader.
func (o *Operator) elects() bool {
	return o.options.LeaderElection && o.options.Controllers.Shards == 0
}

func (o *Operator) leaseOwner() leaseOwner {
	return leaseOwner{client: o.manager.GetClient(), live: o.manager.GetAPIReader(), namespace: o.options.Controllers.OperatorNamespace}
}

// addChecks adds the probes. An operator is ready when its caches have synced: before that, it would act on an incomplete view of the
// cluster.
func (o *Operator) addChecks() error {
	if err := o.manager.AddHealthzCheck("ping", healthz.Ping); err != nil {
		return fmt.Errorf("add the health check: %w", err)
	}
	if err := o.manager.AddReadyzCheck("caches", cachesSynced(o.manager)); err != nil {
		return fmt.Errorf("add the readiness check: %w", err)
	}
	if err := o.manager.AddReadyzCheck("ledger", ledgerAnswers(o.options.Controllers.Ledger)); err != nil {
		return fmt.Errorf("add the ledger's readiness check: %w", err)
	}
	return nil
}

// cache restricts the cache to the chosen namespaces.
func (o *Operator) cache() cache.Options {
	if len(o.options.Namespaces) == 0 {
		return controller.Cache(cache.Options{})
	}
	namespaces := map[string]cache.Config{o.options.Controllers.OperatorNamespace: {}}
	for _, name := range o.options.Namespaces {
		namespaces[name] = cache.Config{}
	}
	return controller.Cache(cache.Options{DefaultNamespaces: namespaces})
}
