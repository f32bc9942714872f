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
	"net"
	"os"
	"strings"
	"time"

	utilrand "k8s.io/apimachinery/pkg/util/rand"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/nestor-dev/nestor/internal/controller"
	"github.com/nestor-dev/nestor/internal/controller/workspace"
	"github.com/nestor-dev/nestor/internal/fault"
	"github.com/nestor-dev/nestor/internal/history/transcript"
	"github.com/nestor-dev/nestor/internal/kubewrites"
	"github.com/nestor-dev/nestor/internal/ledger/connect"
	"github.com/nestor-dev/nestor/internal/ledger/sqlstore"
	"github.com/nestor-dev/nestor/internal/operator"
	"github.com/nestor-dev/nestor/internal/program"
	"github.com/nestor-dev/nestor/internal/replicas"
)

// ledgerVariable names the ledger if no flag does. Every user of a node can read the flags of its processes, and a connection string
// contains a password.
const ledgerVariable = "NESTOR_LEDGER"

const (
	addressVariable = "POD_IP"
	podVariable     = "POD_NAME"
)

// options are the flags. Flags that need no parsing are set directly in the operator's options.
type options struct {
	program.Flags
	operator                          operator.Options
	name, namespaces, ledger          string
	namespaceQuota                    byteSize
	search                            bool
	shards                            int
	leaseDuration                     time.Duration
	qps                               float64
	operatorLabels, localWorkspaces   string
	workspaceEgress, workspaceMaxSize string
	workspaceAllow                    string
	privateGitServers                 string
}

func (o *options) register(set *flag.FlagSet) {
	o.Register(set)
	set.StringVar(&o.name, "name", "nestor", "`name` of the installation: its Services are NAME-operator, NAME-history and NAME-gateway, NAME-gateway is also the gateway's service account, and NAME the ValidatingWebhookConfiguration")
	set.StringVar(&o.namespaces, "namespaces", "", "comma-separated `list` of namespaces to watch; the operator's own is always one of them (default: all)")
	set.StringVar(&o.ledger, "ledger", "", "where the history of every agent is kept: sqlite:PATH, or postgres://... for several replicas (default $NESTOR_LEDGER, else sqlite:nestor.db)")
	set.DurationVar(&o.operator.HistoryRetention, "history-retention", 0, "how long the history of finished agents is kept, such as 2160h for 90 days; 0 keeps it forever")
	set.DurationVar(&o.operator.CallRetention, "call-retention", 0, "how long the requests and responses of model calls and the outputs of tools are kept after the call, of live agents too, such as 720h for 30 days; 0 keeps them as long as their agents")
	set.Var(&o.namespaceQuota, "ledger-namespace-quota", "limit in `bytes` for the ledger data of one namespace, such as 10Gi; model calls beyond it wait; 0 means no limit")
	set.BoolVar(&o.search, "ledger-search", false, "index the texts of histories, so that kubectl nestor search and the page find words in them; histories from before are indexed in the background. Without it the index is deleted")
	set.IntVar(&o.shards, "shards", 32, fmt.Sprintf("number of shards that the replicas of this operator share, from 1 to %d, on a PostgreSQL ledger; all replicas must use the same number. 0 means that one replica works and the others wait. SQLite ledgers have one replica", maxShards))
	set.DurationVar(&o.leaseDuration, "lease-duration", 8*time.Second, "how long the shards of a replica that has died stay without an owner, in whole seconds from 2s; each replica renews its row in the ledger four times as often")
	set.BoolVar(&o.operator.LeaderElection, "leader-elect", false, "with --shards=0, wait for leadership before the controllers start; required for several replicas")
	set.StringVar(&o.operator.MetricsAddress, "metrics-bind-address", "0", "`address` for Prometheus metrics, such as :8080; 0 turns them off")
	set.BoolVar(&o.operator.MetricsInsecure, "metrics-insecure", false, "serve the metrics without TLS to everyone who can connect; by default readers need a token of the cluster that may get the path /metrics")
	set.StringVar(&o.operator.ProbeAddress, "health-probe-bind-address", "0", "`address` for /healthz and /readyz, such as :8081; 0 turns them off")
	set.StringVar(&o.operator.ProfileAddress, "pprof-bind-address", "0", "`address` for Go's profiles under /debug/pprof, for developers; 0 turns them off")
	set.StringVar(&o.operator.History.Address, "history-bind-address", "0", "`address` where the history API is served to the API server's aggregator, such as :8443; 0 turns it off")
	registerCertificate(&o.operator.History.Certificate, set)
	set.StringVar(&o.operator.ReplicaAddress, "replica-bind-address", "0", "with --shards, `address` where other replicas get the live text of the agents that run in this one, such as :9443; they connect to its host, or to $POD_IP if it has none; 0 turns it off")
	set.StringVar(&o.operator.Controllers.WorkspaceImage, "workspace-image", "", "`image` of workspace pods, with nestor-workspace, bash and git; without it chats that have a workspace wait")
	set.StringVar(&o.workspaceEgress, "workspace-egress", "", "what workspace pods may connect to besides their git server, as a JSON `list` of NetworkPolicyEgressRules (default: nothing)")
	set.StringVar(&o.privateGitServers, "workspace-private-git-servers", "", "comma-separated `list` of host names, addresses and networks (10.1.0.0/16): workspaces may clone from these git servers although their addresses are private or they are Services of another namespace (default: none)")
	set.StringVar(&o.workspaceMaxSize, "workspace-max-size", workspace.DefaultMaxSize, "largest `size` of the files of a workspace pod that are not on a volume; a chat that requests more waits")
	set.StringVar(&o.workspaceAllow, "workspace-allow", "", "runtimes and nodes that workspaces may ask for, as a JSON `object`: {\"runtimeClassNames\": [\"gvisor\"], \"nodeSelector\": {\"pool\": [\"agents\"]}, \"tolerations\": [{\"key\": \"dedicated\", \"operator\": \"Exists\"}]} (default: none)")
	set.StringVar(&o.operatorLabels, "operator-labels", "", "comma-separated `labels` (name=value) of the operator's own pods, which alone may connect to workspaces (default app.kubernetes.io/name=nestor-operator)")
	set.StringVar(&o.operator.Controllers.APIKeyDir, "api-key-dir", "", "`directory` of API keys in files, with a directory for each namespace: the apiKeyFile of a ModelProvider is read from there for each request. For keys that a cloud's workload identity renews")
	set.StringVar(&o.localWorkspaces, "local-workspaces", "", "comma-separated `directories` of this machine: chats may have a workspace in one of them, served by this process with the permissions of its user. For an operator on your own machine only")
	set.BoolVar(&o.operator.Controllers.AllowLoopbackEndpoints, "allow-loopback-endpoints", false, "let ModelProviders and ToolServers name endpoints on loopback addresses, which everyone who may create them can then reach. For an operator on your own machine, or with a proxy in its own pod")
	set.IntVar(&o.operator.History.Streams.PerUser, "history-max-streams-per-user", 100, "maximum number of transcripts that one user follows at once through the history API; more are rejected with status 429; a page follows up to ten; 0 means no limit")
	registerGateway(&o.operator.Gateway, set)
	set.StringVar(&o.operator.Admission.Address, "admission-bind-address", "0", "`address` of the validating webhook, such as :9445, with the certificate of the history API; 0 turns it off")
	set.Float64Var(&o.qps, "kube-api-qps", 500, "maximum requests per second to the API server, in bursts of twice as many")
	set.IntVar(&o.operator.MaxWrites, "kube-api-writes", 0, fmt.Sprintf("maximum writes of Nestor's objects in flight to the API server; 0 adapts to its response time, from %d to %d. A lower limit leaves more of its CPU to other clients", kubewrites.Floor, kubewrites.Ceiling))
}

// run runs the operator until ctx ends.
func (o *options) run(ctx context.Context, log io.Writer) error {
	if err := o.SetLogger(log); err != nil {
		return err
	}
	if err := o.complete(); err != nil {
		return err
	}
	dsn := cmp.Or(o.ledger, os.Getenv(ledgerVariable), "sqlite:nestor.db")
	var ledgerOptions []sqlstore.Option
	if o.search {
		ledgerOptions = append(ledgerOptions, sqlstore.Search(transcript.Text))
	}
	store, err := connect.Open(ctx, dsn, ledgerOptions...)
	if err != nil {
		return err
	}
	o.operator.Controllers.Ledger = store
	if connect.Shareable(dsn) {
		o.operator.Controllers.Shards = o.shards
	}
	return errors.Join(operator.Run(ctx, o.operator), store.Close())
}

// complete checks the flags and parses them into the operator's options.
func (o *options) complete() (err error) {
	switch run := &o.operator; {
	case run.HistoryRetention < 0:
		return errors.New("--history-retention must be a time such as 2160h, or 0 to keep histories forever")
	case run.CallRetention < 0:
		return errors.New("--call-retention must be a time such as 720h, or 0 to keep calls as long as their agents")
	case o.shards < 0 || o.shards > maxShards:
		return fmt.Errorf("--shards must be from 1 to %d, or 0 to let one replica work", maxShards)
	case o.leaseDuration < 2*time.Second || o.leaseDuration%time.Second != 0:
		return errors.New("--lease-duration must be a whole number of seconds, at least 2s")
	case run.MaxWrites < 0:
		return errors.New("--kube-api-writes must be at least 1, or 0 to adapt to the API server")
	}
	if o.name == "" {
		return errors.New("--name must not be empty: omit it to use nestor")
	}
	if err := completeCertificate(&o.operator.History.Certificate, o.name); err != nil {
		return err
	}
	o.operator.Admission.Configuration = o.name
	gateway := &o.operator.Gateway
	gateway.Endpoint, gateway.Service, gateway.ServiceAccount = o.name+"-operator", o.name+"-gateway", o.name+"-gateway"
	o.operator.History.Streams.Total = maxHistoryStreams
	controllers := &o.operator.Controllers
	if controllers.Reached, err = fault.FromEnvironment(); err != nil {
		return err
	}
	if controllers.OperatorLabels, err = parseLabels(o.operatorLabels); err != nil {
		return err
	}
	if controllers.WorkspaceEgress, err = parseEgress(o.workspaceEgress); err != nil {
		return err
	}
	if controllers.PrivateGitServers, err = workspace.ParseServers(split(o.privateGitServers)); err != nil {
		return fmt.Errorf("--workspace-private-git-servers: %w", err)
	}
	if controllers.WorkspaceMaxSize, err = parseSize(o.workspaceMaxSize); err != nil {
		return err
	}
	if controllers.WorkspaceAllow, err = parseAllow(o.workspaceAllow); err != nil {
		return err
	}
	controllers.OperatorNamespace, controllers.Metrics = program.OperatorNamespace(), ctrlmetrics.Registry
	address, err := replicaAddress(o.operator.ReplicaAddress)
	if err != nil {
		return err
	}
	controllers.Replica = controller.Replica{Name: replicaName(), Address: address, LeaseDuration: o.leaseDuration}
	controllers.Holder = replicas.NewID(controllers.Replica.Name)
	controllers.LocalWorkspaces, controllers.LedgerNamespaceQuota = split(o.localWorkspaces), int64(o.namespaceQuota)
	o.operator.Namespaces, o.operator.Service = split(o.namespaces), "nestor-operator"
	if o.operator.Config, err = program.ClientConfig(o.Kubeconfig, "nestor-operator"); err != nil {
		return err
	}
	o.operator.Config.QPS, o.operator.Config.Burst = float32(o.qps), int(2*o.qps)
	return nil
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
	labels := map[string]string{}
	for _, entry := range split(value) {
		name, value, ok := strings.Cut(entry, "=")
		if !ok || name == "" {
			return nil, fmt.Errorf("--operator-labels must be name=value, separated by commas, not %q", entry)
		}
		labels[name] = value
	}
	return labels, nil
}

// maxHistoryStreams bounds the connections of all users to the history API of one replica.
const maxHistoryStreams = 1000

// maxShards bounds the number of shards.
const maxShards = 256

// replicaName returns the name of this operator among those of a ledger: the name of the pod, which a restart does not change. Outside a pod,
// several operators may run on one host.
func replicaName() string {
	if pod := os.Getenv(podVariable); pod != "" {
		return pod
	}
	host, err := os.Hostname()
	if err != nil {
		host = "operator"
	}
	return host + "-" + utilrand.String(5)
}

// replicaAddress returns where other replicas reach this one if it listens on an address; empty if it does not.
func replicaAddress(bind string) (string, error) {
	if bind == "0" || bind == "" {
		return "", nil
	}
	host, port, err := net.SplitHostPort(bind)
	if err != nil || port == "" || port == "0" {
		return "", fmt.Errorf("--replica-bind-address must be an address such as :9443, not %q", bind)
	}
	if host = cmp.Or(host, os.Getenv(addressVariable)); host == "" {
		return "", fmt.Errorf("--replica-bind-address %s has no host, and $%s does not have one: other replicas could not connect", bind, addressVariable)
	}
	return net.JoinHostPort(host, port), nil
}
