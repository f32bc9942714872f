// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Command demo runs what a newcomer wants to see first: a real Kubernetes API on this machine, the operator, and a scripted
// model to talk to without a key. It keeps running until Ctrl-C and leaves no process behind.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/nestor-dev/nestor/api/v1alpha1"
	"github.com/nestor-dev/nestor/internal/controller"
	"github.com/nestor-dev/nestor/internal/ledger/connect"
	"github.com/nestor-dev/nestor/internal/localcluster"
	"github.com/nestor-dev/nestor/internal/model/scripted"
)

// operatorNamespace is where an operator in a cluster would run.
const operatorNamespace = "nestor-system"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the program at once; the guard cleans up
	if err := run(ctx); err != nil && ctx.Err() == nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

// demo is a running demo.
type demo struct {
	dir     string
	started time.Time
	log     io.Writer
}

func (d demo) say(format string, args ...any) {
	fmt.Printf("[%5.1fs] %s\n", time.Since(d.started).Seconds(), fmt.Sprintf(format, args...))
}

func run(ctx context.Context) (err error) {
	d := demo{dir: os.Getenv("DEMO_DIR"), started: time.Now()}
	if d.dir == "" {
		d.dir = ".demo"
	}
	if err := os.MkdirAll(d.dir, 0o700); err != nil {
		return fmt.Errorf("make the demo's directory: %w", err)
	}
	log, err := os.OpenFile(filepath.Join(d.dir, "demo.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("open the demo's log: %w", err)
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	d.log = log
	logger := logr.FromSlogHandler(slog.NewTextHandler(log, nil))
	ctrl.SetLogger(logger)
	klog.SetLogger(logger)

	cluster, err := localcluster.Start(ctx, localcluster.Options{
		StateDir: filepath.Join(d.dir, "cluster"), Log: log, Progress: func(step string) { d.say("%s", step) },
	})
	if err != nil {
		return err
	}
	defer func() {
		d.say("stopping; the state is kept in %s", d.dir)
		err = errors.Join(err, cluster.Stop())
	}()
	url, stop, err := startModel(ctx)
	if err != nil {
		return err
	}
	defer stop()
	d.say("the scripted model listens at %s", url)
	return d.operate(ctx, cluster, url)
}

// startModel serves the scripted model on loopback.
func startModel(ctx context.Context) (url string, stop func(), err error) {
	scripts, err := scripted.Demo()
	if err != nil {
		return "", nil, fmt.Errorf("load the demo's scripts: %w", err)
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, fmt.Errorf("find a port for the scripted model: %w", err)
	}
	server := &http.Server{Handler: scripted.NewServer(scripted.Options{Scripts: scripts}), ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = server.Serve(listener) }() // it ends with Close
	return "http://" + listener.Addr().String() + "/v1", func() { _ = server.Close() }, nil
}

// operate runs the operator in this process until ctx ends.
func (d demo) operate(ctx context.Context, cluster *localcluster.Cluster, modelURL string) (err error) {
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		return err
	}
	kept, err := connect.Open(ctx, "sqlite:"+filepath.Join(d.dir, "ledger.db"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, kept.Close()) }()
	config := rest.CopyConfig(cluster.Config)
	config.QPS, config.Burst = 500, 1000
	mgr, err := ctrl.NewManager(config, ctrl.Options{Scheme: scheme, Metrics: metricsserver.Options{BindAddress: "0"}})
	if err != nil {
		return fmt.Errorf("connect to the cluster: %w", err)
	}
	if err := controller.Setup(mgr, controller.Options{OperatorNamespace: operatorNamespace, Ledger: kept}); err != nil {
		return err
	}
	if err := furnish(ctx, config, scheme, modelURL); err != nil {
		return err
	}
	stopped := make(chan error, 1)
	go func() { stopped <- mgr.Start(ctx) }()
	d.say("ready; the state is kept in %s, the log in %s", d.dir, filepath.Join(d.dir, "demo.log"))
	fmt.Print(d.whatNext(cluster))
	return <-stopped
}

// furnish makes the objects that a first chat needs: a provider that is the scripted model, and a chat.
func furnish(ctx context.Context, config *rest.Config, scheme *runtime.Scheme, modelURL string) error {
	api, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return fmt.Errorf("connect to the cluster: %w", err)
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: operatorNamespace}}
	if err := api.Create(ctx, namespace); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create the operator's namespace: %w", err)
	}
	provider := &v1alpha1.ModelProvider{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "default"}}
	if _, err := controllerutil.CreateOrUpdate(ctx, api, provider, func() error {
		provider.Spec.BaseURL, provider.Spec.DefaultModel = modelURL, "scripted"
		return nil
	}); err != nil {
		return fmt.Errorf("create the model provider: %w", err)
	}
	chat := &v1alpha1.AgentChat{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "first"}}
	if err := api.Create(ctx, chat); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create the first chat: %w", err)
	}
	return nil
}

func (d demo) whatNext(cluster *localcluster.Cluster) string {
	return fmt.Sprintf(`
Talk to it from another terminal:

  export KUBECONFIG=%s PATH=%s:"$PATH"
  kubectl create -f - <<END
  {apiVersion: nestor.dev/v1alpha1, kind: AgentMessage, metadata: {generateName: first-}, spec: {chat: first, content: "Summarise what was released this year."}}
  END
  kubectl get nestor                      # the chat, its task, its sub-agent, and what they said
  kubectl get agentmessages -o wide       # an agent asks which year it is: answer "It is 2024" in the same way
  kubectl describe subagent first-1
  kubectl create -f test/invalid-examples/toolserver-url-scheme.yaml   # refused, and says why

Ctrl-C stops everything.
`, quote(cluster.Kubeconfig), quote(filepath.Dir(cluster.Kubectl)))
}

func quote(path string) string { return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'" }
