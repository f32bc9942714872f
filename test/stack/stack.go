// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package stack

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/config/operator"
	"github.com/nestor-dev/nestor/internal/intake"
	"github.com/nestor-dev/nestor/internal/ledger/ledgertest/pgserver"
	"github.com/nestor-dev/nestor/internal/localcluster"
)

// The ledgers of a stack.
const (
	SQLite     = "SQLite"
	PostgreSQL = "PostgreSQL"
)

// OperatorNamespace is the operator's namespace, which also contains the shared objects.
const OperatorNamespace = operator.Namespace

// Options configure a stack.
type Options struct {
	// Ledger is SQLite or PostgreSQL; empty means SQLite.
	Ledger string
	// Durable lets commits of a PostgreSQL ledger wait for the disk, for measurements.
	Durable bool
	// Scripts are the scripts of the model: files, or builtin:NAME. If empty, all built-in ones are used.
	Scripts []string
	// ModelFlags are additional flags of nestor-scripted-model.
	ModelFlags []string
	// OperatorFlags are additional flags of nestor-operator.
	OperatorFlags []string
	// Env is added to the environment of the operator.
	Env []string
	// Programs is a directory with the programs from Build. If empty, they are built for this stack.
	Programs string
	// Build names additional packages of this module to build if Programs is empty. Serve runs their programs.
	Build []string
	// NoOperator leaves starting the operator to the caller.
	NoOperator bool
	// Gateway serves the history API, and runs a gateway.
	Gateway bool
	// LedgerDir is the directory of the SQLite file; empty means the stack's directory.
	LedgerDir string
	// DelayWatches delays the events of the operators' watches at random. WatchSeed determines the delays; 0 means the
	// environment variable WATCH_SEED, or any.
	DelayWatches bool
	WatchSeed    uint64
}

// Admin is the user name of the administrator who uses Stack.API.
const Admin = "admin"

// Stack is a running Nestor.
type Stack struct {
	// Dir holds the ledger and the logs (operator.log); it is deleted with the stack.
	Dir     string
	Cluster *localcluster.Cluster
	// API is an administrator's client without rate limits.
	API client.WithWatch
	// OperatorKubeconfig is the operator's kubeconfig, with the chart's service account, and OperatorAPI is the URL in it.
	OperatorKubeconfig, OperatorAPI string
	// LedgerURL is the value of --ledger; Postgres is the database server, if there is one.
	LedgerURL string
	Postgres  *pgserver.Server
	// Model plays the scripts at ModelURL; its admin paths are at ModelAdmin.
	Model                *Process
	ModelURL, ModelAdmin string
	// Operator is the newest operator; Metrics, Probes and Profiles (pprof) are its addresses.
	Operator                  *Process
	Metrics, Probes, Profiles string
	// Gateway is the newest gateway, if there is one; GatewayURL is its address, which its successors keep.
	Gateway    *Process
	GatewayURL string
	// Intake is the address at which the operator receives the requests of the gateway; it requires no token.
	Intake intake.Operator
	// WatchSeed is the seed of the delays of watch events.
	WatchSeed uint64

	options Options
	delays  *delays
	// intakeFlags are those of the newest operator only, and gatewayFlags those of the gateway: others cannot listen at
	// the same addresses.
	intakeFlags, gatewayFlags []string
	log                       *os.File
	served                    []*Process
	replicas                  []*Process
}

const loopbackFlag = "allow-loopback-endpoints"

// Start runs a stack. If it fails, nothing is left running.
func Start(ctx context.Context, options Options) (s *Stack, err error) {
	s = &Stack{options: options}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Stop())
		}
	}()
	if s.Dir, err = os.MkdirTemp("", "nestor-stack-"); err != nil {
		return s, fmt.Errorf("create the stack's directory: %w", err)
	}
	if s.log, err = os.Create(filepath.Join(s.Dir, "operator.log")); err != nil {
		return s, fmt.Errorf("create the operator's log: %w", err)
	}
	if s.options.Programs == "" {
		s.options.Programs = s.Dir
		if err := Build(ctx, s.Dir, options.Build...); err != nil {
			return s, err
		}
	}
	if s.Cluster, err = localcluster.Start(ctx, localcluster.Options{}); err != nil {
		return s, err
	}
	if err := s.connect(ctx); err != nil {
		return s, err
	}
	if err := s.grant(ctx); err != nil {
		return s, err
	}
	if err := s.openLedger(ctx); err != nil {
		return s, err
	}
	if err := s.startModel(); err != nil {
		return s, err
	}
	if options.NoOperator {
		return s, nil
	}
	if options.Gateway {
		return s, s.startWithGateway(ctx)
	}
	return s, s.StartOperator(ctx)
}

// connect creates the client and the operator's namespace.
func (s *Stack) connect(ctx context.Context) error {
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1beta1.AddToScheme(scheme)); err != nil {
		return fmt.Errorf("build the scheme: %w", err)
	}
	config := rest.CopyConfig(s.Cluster.Config)
	config.QPS = -1
	var err error
	if s.API, err = client.NewWithWatch(config, client.Options{Scheme: scheme}); err != nil {
		return fmt.Errorf("connect to the cluster: %w", err)
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: OperatorNamespace}}
	if err := s.API.Create(ctx, namespace); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create the operator's namespace: %w", err)
	}
	return nil
}

func (s *Stack) openLedger(ctx context.Context) error {
	if s.options.Ledger != PostgreSQL {
		dir := s.options.LedgerDir
		if dir == "" {
			dir = s.Dir
		}
		s.LedgerURL = "sqlite:" + filepath.Join(dir, "ledger.db")
		return nil
	}
	serve := pgserver.New
	if s.options.Durable {
		serve = pgserver.NewDurable
	}
	var err error
	if s.Postgres, err = serve(ctx); err != nil {
		return err
	}
	s.LedgerURL, err = s.Postgres.NewDatabase(ctx)
	return err
}

// startModel runs the scripted model, which prints its address.
func (s *Stack) startModel() error {
	args := append([]string{"--listen", "127.0.0.1:0", "--print-url"}, s.options.ModelFlags...)
	for _, script := range s.options.Scripts {
		args = append(args, "--script", script)
	}
	var err error
	if s.Model, s.ModelURL, err = s.Serve("nestor-scripted-model", args...); err != nil {
		return err
	}
	s.ModelAdmin = strings.TrimSuffix(s.ModelURL, "/v1") + "/_scripted"
	return nil
}

// Serve runs one of the programs until the stack stops, and returns the URL that it prints first.
func (s *Stack) Serve(program string, args ...string) (*Process, string, error) {
	out, in := io.Pipe()
	process, err := run(in, s.log, nil, filepath.Join(s.options.Programs, program), args...)
	if err != nil {
		return nil, "", err
	}
	s.served = append(s.served, process)
	go func() {
		<-process.Exited()
		_ = in.Close()
	}()
	url, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return process, "", fmt.Errorf("%s did not start:\n%s", program, s.OperatorLog())
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	return process, strings.TrimSpace(url), nil
}

// StartOperator runs an operator and waits until it is ready. Stop the previous one first, unless two at a time are
// intended.
func (s *Stack) StartOperator(ctx context.Context) error {
	if err := s.LaunchOperator(ctx); err != nil {
		return err
	}
	return s.AwaitReady(ctx)
}

// LaunchOperator runs an operator without waiting. Like a pod that restarts, it takes the shards of the one before at
// once. env is added to the environment of this operator only.
func (s *Stack) LaunchOperator(ctx context.Context, env ...string) error {
	r, err := s.LaunchReplica(ctx, ReplicaOptions{Env: append([]string{"POD_NAME=operator"}, env...), Flags: s.intakeFlags})
	if err != nil {
		return err
	}
	s.Operator, s.Metrics, s.Probes, s.Profiles = r.Process, r.Metrics, r.Probes, r.Profiles
	return nil
}

// UsePrograms sets the directory of the programs for all operators that start later, as an upgrade does.
func (s *Stack) UsePrograms(dir string) { s.options.Programs = dir }

// LaunchRival runs another operator at the same time, as a mistake in a deployment would. The caller ends it.
func (s *Stack) LaunchRival() (*Process, error) { return s.runOperator(s.log, ReplicaOptions{}) }

// Newest returns the newest operator.
func (s *Stack) Newest() *Replica {
	return &Replica{Process: s.Operator, Metrics: s.Metrics, Probes: s.Probes, Profiles: s.Profiles, Log: s.log.Name()}
}

// AwaitReady waits until the newest operator reports that it is ready.
func (s *Stack) AwaitReady(ctx context.Context) error { return s.Newest().AwaitReady(ctx) }

// Provider creates a ModelProvider for the scripted model in a namespace.
func (s *Stack) Provider(ctx context.Context, namespace, name string) error {
	return s.ProviderOf(ctx, namespace, name, "")
}

// ProviderOf creates a ModelProvider for the scripted model that uses an API; empty means the default.
func (s *Stack) ProviderOf(ctx context.Context, namespace, name string, api v1beta1.ModelAPI) error {
	provider := &v1beta1.ModelProvider{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	provider.Spec.API, provider.Spec.BaseURL, provider.Spec.DefaultModel = api, s.ModelURL, "scripted"
	if api != "" && api != v1beta1.APIOpenAI && api != v1beta1.APIOpenAIResponses {
		provider.Spec.BaseURL = strings.TrimSuffix(s.ModelURL, "/v1")
	}
	if err := s.identify(ctx, provider); err != nil {
		return err
	}
	if err := s.API.Create(ctx, provider); err != nil {
		return fmt.Errorf("create the model provider: %w", err)
	}
	return nil
}

// identify gives a provider of a cloud the credentials that the scripted model accepts.
func (s *Stack) identify(ctx context.Context, provider *v1beta1.ModelProvider) error {
	ref := func(key string) v1beta1.SecretKeyRef {
		return v1beta1.SecretKeyRef{Name: provider.Name + "-cloud", Key: key}
	}
	switch provider.Spec.API {
	case v1beta1.APIBedrock:
		provider.Spec.AWS = &v1beta1.AWS{Region: "eu-central-1", AccessKey: &v1beta1.AWSAccessKey{IDRef: ref("id"), SecretRef: ref("secret")}}
	case v1beta1.APIVertex:
		provider.Spec.GoogleCloud, provider.Spec.APIKeyRef = &v1beta1.GoogleCloud{Project: "flows"}, new(ref("token"))
	default:
		return nil
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: provider.Namespace, Name: provider.Name + "-cloud"}}
	secret.StringData = map[string]string{"id": "AKIASCRIPTED", "secret": "scripted", "token": "access-token"}
	if err := s.API.Create(ctx, secret); err != nil {
		return fmt.Errorf("create the credentials of the model provider: %w", err)
	}
	return nil
}

// Stop stops all processes and removes the directory.
func (s *Stack) Stop() error {
	var errs []error
	for _, p := range slices.Concat(s.replicas, s.served) {
		errs = append(errs, p.Kill())
	}
	if s.Postgres != nil {
		errs = append(errs, s.Postgres.Close())
	}
	if s.delays != nil {
		errs = append(errs, s.delays.Close())
	}
	if s.Cluster != nil {
		errs = append(errs, s.Cluster.Stop())
	}
	if s.log != nil {
		errs = append(errs, s.log.Close())
	}
	if s.Dir != "" {
		errs = append(errs, os.RemoveAll(s.Dir))
	}
	return errors.Join(errs...)
}
