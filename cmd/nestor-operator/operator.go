// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/nestor-dev/nestor/api/v1alpha1"
	"github.com/nestor-dev/nestor/internal/controller"
	"github.com/nestor-dev/nestor/internal/controller/workspace"
	"github.com/nestor-dev/nestor/internal/fault"
	"github.com/nestor-dev/nestor/internal/history/live"
	"github.com/nestor-dev/nestor/internal/kubewrites"
	"github.com/nestor-dev/nestor/internal/ledger/connect"
	"github.com/nestor-dev/nestor/internal/metrics"
	"github.com/nestor-dev/nestor/internal/streams"
	"github.com/nestor-dev/nestor/internal/telemetry"
	"github.com/nestor-dev/nestor/internal/version"
)

// ledgerVariable says where the ledger is if no flag does: everybody on a node can read the flags of its processes, and a
// connection string has a password.
const ledgerVariable = "NESTOR_LEDGER"

// options are what the flags say.
type options struct {
	kubeconfig string
	namespaces string
	ledger     string
	retention  time.Duration
	// callRetention is how long the bodies of calls are kept, and namespaceQuota how many bytes of the ledger a namespace may take.
	callRetention  time.Duration
	namespaceQuota byteSize
	leaderElect    bool
	metrics        string
	probes         string
	pprof          string
	history        string
	certificate    certificateOptions
	web            string
	logLevel       string
	logFormat      string
	qps            float64
	burst          int
	// writes is how many writes may be on their way at once; 0 adapts to the API server.
	writes int
	gate   *kubewrites.Gate
	// How many streams the page and the history API hold open.
	webStreams, historyStreams streams.Limits
	// What workspaces are run with.
	workspaceImage, operatorLabels, localWorkspaces string
	workspaceEgress, workspaceMaxSize               string
	// allowLoopback lets ModelProviders and ToolServers name this machine.
	allowLoopback bool
}

func (o *options) register(set *flag.FlagSet) {
	set.StringVar(&o.kubeconfig, "kubeconfig", "", "`file` that says how to reach the cluster (default: the pod's own, or $KUBECONFIG)")
	set.StringVar(&o.namespaces, "namespaces", "", "comma-separated `list` of namespaces to watch; the operator's own is always one of them (default: all)")
	set.StringVar(&o.ledger, "ledger", "", "where the history of every agent is kept: sqlite:PATH, or postgres://... for several replicas (default $NESTOR_LEDGER, else sqlite:nestor.db)")
	set.DurationVar(&o.retention, "history-retention", 0, "how long the history of agents is kept after they finished, such as 2160h for 90 days; 0 keeps it for ever")
	set.DurationVar(&o.callRetention, "call-retention", 0, "how long the requests and responses of model calls and the outputs of tools are kept after the call, of live agents too, such as 720h for 30 days; 0 keeps them as long as their agents")
	set.Var(&o.namespaceQuota, "ledger-namespace-quota", "how many `bytes` of the ledger the agents of one namespace may take, such as 10Gi; at it their model calls wait; 0 is no limit")
	set.BoolVar(&o.leaderElect, "leader-elect", false, "wait until no other operator is at work; needed when there are several replicas")
	set.StringVar(&o.metrics, "metrics-bind-address", "0", "`address` for Prometheus metrics, such as :8080; 0 turns them off")
	set.StringVar(&o.probes, "health-probe-bind-address", "0", "`address` for /healthz and /readyz, such as :8081; 0 turns them off")
	set.StringVar(&o.pprof, "pprof-bind-address", "0", "`address` for Go's profiles under /debug/pprof, for developers; 0 turns them off")
	set.StringVar(&o.history, "history-bind-address", "0", "`address` where the history API is served to the API server's aggregator, such as :8443; 0 turns it off")
	o.certificate.register(set)
	set.StringVar(&o.workspaceImage, "workspace-image", "", "`image` of workspace pods, with nestor-workspace, bash and git; without it chats that have a workspace wait")
	set.StringVar(&o.workspaceEgress, "workspace-egress", "", "what workspace pods may connect to besides their git server, as a JSON `list` of NetworkPolicyEgressRules (default: nothing)")
	set.StringVar(&o.workspaceMaxSize, "workspace-max-size", workspace.DefaultMaxSize, "largest `size` of the files of a workspace pod that are not on a volume; a chat that asks for more waits")
	set.StringVar(&o.operatorLabels, "operator-labels", "", "comma-separated `labels` (name=value) of the operator's own pods, which alone may connect to workspaces (default app.kubernetes.io/name=nestor-operator)")
	set.StringVar(&o.localWorkspaces, "local-workspaces", "", "comma-separated `directories` of this machine: chats may have a workspace in one of them, served by this process with the rights of its user. For an operator on your own machine only")
	set.BoolVar(&o.allowLoopback, "allow-loopback-endpoints", false, "let ModelProviders and ToolServers name endpoints on loopback addresses, which whoever may create them could then reach. For an operator on your own machine, or with a proxy in its own pod")
	set.StringVar(&o.web, "web-bind-address", "0", "`address` where the web page is served, such as :8082, behind something that speaks TLS; people sign in with their own tokens; 0 turns it off")
	set.IntVar(&o.webStreams.Total, "web-max-streams", 256, "open pages that the web page serves at once; more are refused with status 429. 0 is no limit")
	set.IntVar(&o.webStreams.PerUser, "web-max-streams-per-user", 16, "open pages that one person may have at once; 0 is no limit")
	set.IntVar(&o.historyStreams.Total, "history-max-streams", 1000, "transcripts that may be followed at once through the history API; more are refused with status 429. 0 is no limit")
	set.IntVar(&o.historyStreams.PerUser, "history-max-streams-per-user", 100, "transcripts that one person may follow at once; a page follows up to two. 0 is no limit")
	set.StringVar(&o.logLevel, "log-level", "info", "debug, info, warn or error")
	set.StringVar(&o.logFormat, "log-format", "text", "text or json")
	set.Float64Var(&o.qps, "kube-api-qps", 500, "requests a second that the operator may make of the API server")
	set.IntVar(&o.burst, "kube-api-burst", 1000, "requests that it may make at once")
	set.IntVar(&o.writes, "kube-api-writes", 0, fmt.Sprintf("writes of Nestor's objects that may be on their way to the API server at once; 0 adapts to how quickly it answers, from %d to %d. Fewer leave more of its processors to others", kubewrites.Floor, kubewrites.Ceiling))
}

// run runs the operator until ctx ends.
func (o *options) run(ctx context.Context, log io.Writer) error {
	logger, err := o.logger(log)
	if err != nil {
		return err
	}
	reached, err := fault.FromEnvironment()
	if err != nil {
		return err
	}
	if err := o.certificate.check(); err != nil {
		return err
	}
	if o.retention < 0 {
		return errors.New("--history-retention must be a time such as 2160h, or 0 to keep histories for ever")
	}
	if o.callRetention < 0 {
		return errors.New("--call-retention must be a time such as 720h, or 0 to keep calls as long as their agents")
	}
	ctrl.SetLogger(logger)
	klog.SetLogger(logger)
	labels, err := parseLabels(o.operatorLabels)
	if err != nil {
		return err
	}
	egress, err := parseEgress(o.workspaceEgress)
	if err != nil {
		return err
	}
	maxSize, err := parseSize(o.workspaceMaxSize)
	if err != nil {
		return err
	}
	config, err := o.operatorConfig()
	if err != nil {
		return err
	}
	mgr, err := o.manager(config)
	if err != nil {
		return err
	}
	kept, err := connect.Open(ctx, cmp.Or(o.ledger, os.Getenv(ledgerVariable), "sqlite:nestor.db"))
	if err != nil {
		return err
	}
	if err := mgr.AddReadyzCheck("ledger", ledgerAnswers(kept)); err != nil {
		return errors.Join(fmt.Errorf("add the ledger's readiness check: %w", err), kept.Close())
	}
	tells, err := telemetry.Start(ctx, telemetry.Options{Service: "nestor-operator", Version: version.String(), Log: logger.WithName("telemetry")})
	if err != nil {
		return errors.Join(fmt.Errorf("start OpenTelemetry: %w", err), kept.Close())
	}
	defer tells.End(context.WithoutCancel(ctx))
	hub := &live.Hub{}
	if err := controller.Setup(mgr, controller.Options{
		Telemetry: tells, AllowLoopbackEndpoints: o.allowLoopback, LedgerNamespaceQuota: int64(o.namespaceQuota),
		OperatorNamespace: operatorNamespace(), Ledger: kept, Reached: reached, Observer: hub, Metrics: ctrlmetrics.Registry,
		Holder: holder(), WorkspaceImage: o.workspaceImage, WorkspaceEgress: egress, WorkspaceMaxSize: maxSize, OperatorLabels: labels, LocalWorkspaces: split(o.localWorkspaces),
	}); err != nil {
		return errors.Join(err, kept.Close())
	}
	if err := ctrlmetrics.Registry.Register(metrics.Writes{Stats: o.gate.Stats}); err != nil {
		return errors.Join(fmt.Errorf("register the metrics of writes: %w", err), kept.Close())
	}
	if err := o.serve(ctx, mgr, kept, hub); err != nil {
		return errors.Join(err, kept.Close())
	}
	if err := mgr.Add(retention{kept, o.retention, o.callRetention, logger.WithName("retention")}); err != nil {
		return errors.Join(fmt.Errorf("add the retention of histories: %w", err), kept.Close())
	}
	logger.Info("Starting", "version", version.String(), "operatorNamespace", operatorNamespace(), "ledger", kept.Name())
	return errors.Join(mgr.Start(ctx), kept.Close())
}

func (o *options) manager(config *rest.Config) (ctrl.Manager, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("build the scheme: %w", err)
		}
	}
	grace := 30 * time.Second
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme: scheme, Cache: o.cache(), Metrics: metricsserver.Options{BindAddress: o.metrics}, HealthProbeBindAddress: o.probes,
		PprofBindAddress: o.pprof,
		LeaderElection:   o.leaderElect, LeaderElectionID: leaseName, LeaderElectionNamespace: operatorNamespace(),
		LeaderElectionReleaseOnCancel: true, GracefulShutdownTimeout: &grace,
	})
	if err != nil {
		return nil, fmt.Errorf("connect to the cluster: %w", err)
	}
	if err := mgr.AddHealthzCheck("ping", healthz.Ping); err != nil {
		return nil, fmt.Errorf("add the health check: %w", err)
	}
	if o.leaderElect {
		if err := mgr.Add(leaseOwner{client: mgr.GetClient(), live: mgr.GetAPIReader(), namespace: operatorNamespace()}); err != nil {
			return nil, fmt.Errorf("add the lease's owner: %w", err)
		}
	}
	// Ready means that the caches have seen the cluster: before that the operator would judge what it does not know.
	if err := mgr.AddReadyzCheck("caches", cachesSynced(mgr)); err != nil {
		return nil, fmt.Errorf("add the readiness check: %w", err)
	}
	return mgr, nil
}

// cache narrows what is watched to the namespaces that were named.
func (o *options) cache() cache.Options {
	namespaces := map[string]cache.Config{}
	for _, name := range split(o.namespaces) {
		namespaces[name] = cache.Config{}
	}
	if len(namespaces) == 0 {
		return controller.Cache(cache.Options{})
	}
	namespaces[operatorNamespace()] = cache.Config{}
	return controller.Cache(cache.Options{DefaultNamespaces: namespaces})
}

// split returns the entries of a flag whose value is a list.
func split(value string) []string {
	var entries []string
	for entry := range strings.SplitSeq(value, ",") {
		if entry = strings.TrimSpace(entry); entry != "" {
			entries = append(entries, entry)
		}
	}
	return entries
}

func parseLabels(value string) (map[string]string, error) {
	found := map[string]string{}
	for _, entry := range split(value) {
		name, value, ok := strings.Cut(entry, "=")
		if !ok || name == "" {
			return nil, fmt.Errorf("--operator-labels must be name=value, parted by commas, not %q", entry)
		}
		found[name] = value
	}
	return found, nil
}

// operatorConfig is how the operator itself reaches the cluster.
func (o *options) operatorConfig() (*rest.Config, error) {
	if o.writes < 0 {
		return nil, errors.New("--kube-api-writes must be at least 1, or 0 to adapt to the API server")
	}
	config, err := o.clientConfig()
	if err != nil {
		return nil, err
	}
	o.gate = kubewrites.Adaptive()
	if o.writes > 0 {
		o.gate = kubewrites.Fixed(o.writes)
	}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return fewWrites{next, o.gate} })
	return config, nil
}

func (o *options) clientConfig() (*rest.Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = o.kubeconfig
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("read the kubeconfig: %w", err)
	}
	config.QPS, config.Burst = float32(o.qps), o.burst
	config.UserAgent = "nestor-operator/" + version.String()
	// The API server is near and its processors are scarce: it would compress every event of a watch.
	config.DisableCompression = true
	return config, nil
}

func (o *options) logger(out io.Writer) (logr.Logger, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(o.logLevel)); err != nil {
		return logr.Logger{}, fmt.Errorf("--log-level must be debug, info, warn or error, not %q", o.logLevel)
	}
	handlerOptions := &slog.HandlerOptions{Level: level}
	switch o.logFormat {
	case "text":
		return logr.FromSlogHandler(slog.NewTextHandler(out, handlerOptions)), nil
	case "json":
		return logr.FromSlogHandler(slog.NewJSONHandler(out, handlerOptions)), nil
	}
	return logr.Logger{}, fmt.Errorf("--log-format must be text or json, not %q", o.logFormat)
}

// holder is the name of this process among the operators of a ledger: a pod's name, or the machine's with the process.
func holder() string {
	host, err := os.Hostname()
	if err != nil {
		host = "operator"
	}
	return fmt.Sprintf("%s/%d", host, os.Getpid())
}

// operatorNamespace is where the operator itself runs.
func operatorNamespace() string {
	if namespace := os.Getenv("POD_NAMESPACE"); namespace != "" {
		return namespace
	}
	return "nestor-system"
}
