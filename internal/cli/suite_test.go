// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"context"
	"flag"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/go-logr/logr"
	"github.com/rogpeppe/go-internal/testscript"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/cli"
	"github.com/nestor-dev/nestor/internal/controller"
	"github.com/nestor-dev/nestor/internal/history/live"
	"github.com/nestor-dev/nestor/internal/history/transcript"
	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/ledger/connect"
	"github.com/nestor-dev/nestor/internal/ledger/sqlstore"
	"github.com/nestor-dev/nestor/internal/localcluster"
	"github.com/nestor-dev/nestor/internal/model/scripted"
	"github.com/nestor-dev/nestor/internal/operator"
)

var update = flag.Bool("update", false, "rewrite the expected output in the scripts")

// world holds what the tests share: a control plane, an operator and a scripted model.
var world struct {
	cluster  *localcluster.Cluster
	api      client.Client
	modelURL string
	ledger   ledger.Ledger
	hub      *live.Hub
	// directories contains the directories of workspaces.
	directories string
	serial      atomic.Int32
}

const operatorNamespace = "nestor-system"

// program is the name under which the test binary acts as kubectl-nestor in a separate process.
const program = "kubectl-nestor"

// patient is the environment variable that makes the program wait for files on a busy machine.
const patient = "PATIENT"

func TestMain(m *testing.M) {
	testscript.Main(suite{m}, map[string]func(){program: func() {
		if os.Getenv(patient) != "" {
			cli.WaitForChanges()
		}
		os.Exit(cli.Main())
	}})
}

// suite starts the shared environment before the tests and stops it afterwards.
type suite struct{ *testing.M }

func (s suite) Run() int {
	flag.Parse()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	dir, err := os.MkdirTemp("", "nestor-cli-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	stop, err := startWorld(ctx, cancel, dir)
	if err != nil {
		fmt.Fprintln(os.Stderr, "start the world:", err)
		return 1
	}
	defer stop()
	return s.M.Run()
}

func startWorld(ctx context.Context, cancel context.CancelFunc, dir string) (stop func(), err error) {
	ctrl.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard())
	if world.cluster, err = localcluster.Start(ctx, localcluster.Options{}); err != nil {
		return nil, err
	}
	if world.api, err = client.New(world.cluster.Config, client.Options{Scheme: operator.NewScheme()}); err != nil {
		return nil, err
	}
	if err := world.api.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: operatorNamespace}}); err != nil {
		return nil, err
	}
	ledger, err := connect.Open(ctx, "sqlite:"+filepath.Join(dir, "ledger.db"), sqlstore.Search(transcript.Text))
	if err != nil {
		return nil, err
	}
	world.ledger, world.hub = ledger, &live.Hub{}
	world.directories = filepath.Join(dir, "directories")
	if err := os.Mkdir(world.directories, 0o700); err != nil {
		return nil, err
	}
	assembled, err := operator.New(ctx, operator.Options{
		Config: world.cluster.Config, Live: world.hub,
		Controllers: controller.Options{
			AllowLoopbackEndpoints: true, OperatorNamespace: operatorNamespace, Ledger: ledger,
			LocalWorkspaces: []string{world.directories}, WorkspaceScratch: dir,
		},
	})
	if err != nil {
		return nil, err
	}
	server, err := startModel(true)
	if err != nil {
		return nil, err
	}
	world.modelURL = server.URL + "/v1"
	stopped := make(chan error, 1)
	go func() { stopped <- assembled.Run(ctx) }()
	return func() {
		cancel()
		<-stopped
		server.Close()
		_ = ledger.Close()
		_ = world.cluster.Stop()
	}, nil
}

// startModel serves the tests' own script before the built-in ones.
func startModel(noDelay bool) (*httptest.Server, error) {
	data, err := os.ReadFile("testdata/model.yaml")
	if err != nil {
		return nil, err
	}
	own, err := scripted.Parse("testdata/model.yaml", data)
	if err != nil {
		return nil, err
	}
	options := scripted.Options{NoDelay: noDelay, Scripts: []*scripted.Script{own}}
	builtin, err := scripted.Demo()
	if err != nil {
		return nil, err
	}
	options.Scripts = append(options.Scripts, builtin...)
	return httptest.NewServer(scripted.NewServer(options)), nil
}

// newNamespace creates a namespace with a model provider, and a kubeconfig for it.
func newNamespace(dir, modelURL string) (namespace, kubeconfig string, err error) {
	ctx := context.Background()
	namespace = fmt.Sprintf("cli-%d", world.serial.Add(1))
	provider := &v1beta1.ModelProvider{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "default"}}
	provider.Spec.BaseURL, provider.Spec.DefaultModel = modelURL, "scripted"
	for _, object := range []client.Object{&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, provider} {
		if err := world.api.Create(ctx, object); err != nil {
			return "", "", err
		}
	}
	config, err := clientcmd.LoadFromFile(world.cluster.Kubeconfig)
	if err != nil {
		return "", "", err
	}
	config.Contexts[config.CurrentContext].Namespace = namespace
	kubeconfig = filepath.Join(dir, "kubeconfig")
	return namespace, kubeconfig, clientcmd.WriteToFile(*config, kubeconfig)
}

// approvalRole returns a role that makes the general agent ask for approval before it uses a tool.
func approvalRole(namespace string) *v1beta1.AgentRole {
	role := &v1beta1.AgentRole{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "general"}}
	role.Spec.Approval = &v1beta1.ApprovalPolicy{Mode: v1beta1.ApprovalAlways, Editable: true}
	return role
}

func TestScripts(t *testing.T) { runScripts(t, "testdata/scripts") }

func runScripts(t *testing.T, dir string) {
	t.Helper()
	testscript.Run(t, testscript.Params{
		Dir: dir, UpdateScripts: *update, RequireExplicitExec: true, RequireUniqueNames: true,
		Setup: func(env *testscript.Env) error {
			namespace, kubeconfig, err := newNamespace(env.WorkDir, world.modelURL)
			if err != nil {
				return err
			}
			env.Setenv("KUBECONFIG", kubeconfig)
			env.Setenv("NAMESPACE", namespace)
			env.Setenv("HOME", env.WorkDir)
			env.Setenv("TERM", "xterm-256color")
			env.Setenv("PATH", filepath.Dir(world.cluster.Kubectl)+string(filepath.ListSeparator)+env.Getenv("PATH"))
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"nestor": nestor},
	})
}

// nestor runs kubectl-nestor and masks what differs between runs in its output. `nestor CODE ARGS...` expects that
// exit code; `nestor CODE <FILE ARGS...` also passes it a file on standard input.
func nestor(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: nestor CODE [<FILE] ARGS...")
	}
	want, args := args[0], args[1:]
	input := ""
	if len(args) > 0 && strings.HasPrefix(args[0], "<") {
		input, args = ts.ReadFile(args[0][1:]), args[1:]
	}
	out := runProgram(ts.MkAbs("."), []string{"KUBECONFIG=" + ts.Getenv("KUBECONFIG"), "HOME=" + ts.Getenv("HOME"), "EDITOR=" + ts.Getenv("EDITOR")}, input, args...)
	fmt.Fprint(ts.Stdout(), mask(out.stdout, ts.Getenv("NAMESPACE")))
	fmt.Fprint(ts.Stderr(), mask(out.stderr, ts.Getenv("NAMESPACE")))
	if got := fmt.Sprint(out.code); got != want {
		ts.Fatalf("exit code %s, want %s\nstdout: %s\nstderr: %s", got, want, out.stdout, out.stderr)
	}
}
