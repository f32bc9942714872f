// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/conditions"
	"github.com/nestor-dev/nestor/internal/controller"
	"github.com/nestor-dev/nestor/internal/ledger/connect"
	"github.com/nestor-dev/nestor/internal/localcluster"
	"github.com/nestor-dev/nestor/internal/model/scripted"
	"github.com/nestor-dev/nestor/internal/operator"
	"github.com/nestor-dev/nestor/internal/tool/workspace/shell"
	"github.com/nestor-dev/nestor/test/patience"
)

// operatorNamespace is the namespace of shared objects in this suite.
const operatorNamespace = "nestor-system"

var (
	ctx      context.Context
	api      client.Client
	modelURL string
	serial   int
	// localRoot is the directory that may contain local workspaces in this suite.
	localRoot string
)

// TestMain lets the test binary also act as the supervisor of the commands in local workspaces.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == shell.SupervisorArgument {
		os.Exit(shell.Supervise(os.Args[2:], os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// counting is an agent that takes the requested number of turns, each with another expression.
const counting = `
name: counting
rules:
- match: {history: Count to 60, turn: 61}
  reply: {toolCalls: [{name: submit_result, arguments: {result: Counted.}}]}
- match: {history: Count to 60}
  reply: {toolCalls: [{name: calculator, arguments: {expression: '{{.turn}} + 1'}}]}
`

func TestControllers(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "Controllers")
}

var _ = BeforeSuite(func() {
	SetDefaultEventuallyTimeout(patience.Limit())
	SetDefaultEventuallyPollingInterval(50 * time.Millisecond)
	var cancel context.CancelFunc
	ctx, cancel = context.WithCancel(context.Background())

	cluster, err := localcluster.Start(ctx, localcluster.Options{})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() { Expect(cluster.Stop()).To(Succeed()) })

	api, err = client.New(cluster.Config, client.Options{Scheme: operator.NewScheme()})
	Expect(err).NotTo(HaveOccurred())
	Expect(api.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: operatorNamespace}})).To(Succeed())

	ctrl.SetLogger(GinkgoLogr)
	config := rest.CopyConfig(cluster.Config)
	config.Wrap(writes.wrap)
	kept, err := connect.Open(ctx, "sqlite:"+filepath.Join(GinkgoT().TempDir(), "ledger.db"))
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() { Expect(kept.Close()).To(Succeed()) })
	localRoot = GinkgoT().TempDir()
	assembled, err := operator.New(ctx, operator.Options{Config: config, Controllers: controller.Options{
		AllowLoopbackEndpoints: true, OperatorNamespace: operatorNamespace, Ledger: kept, LocalWorkspaces: []string{localRoot}, WorkspaceScratch: GinkgoT().TempDir(),
	}})
	Expect(err).NotTo(HaveOccurred())
	stopped := make(chan error, 1)
	go func() { stopped <- assembled.Run(ctx) }()
	DeferCleanup(func() {
		cancel()
		Eventually(stopped).Should(Receive(Succeed()))
	})

	options := scripted.Options{APIKey: "right", NoDelay: true}
	for _, name := range []string{"load", "central-orchestration", "nested-agents", "role-delegation"} {
		script, err := scripted.Builtin(name)
		Expect(err).NotTo(HaveOccurred())
		options.Scripts = append(options.Scripts, script)
	}
	files, err := os.ReadFile("testdata/workspace.yaml")
	Expect(err).NotTo(HaveOccurred())
	script, err := scripted.Parse("testdata/workspace.yaml", files)
	Expect(err).NotTo(HaveOccurred())
	options.Scripts = append(options.Scripts, script)
	counting, err := scripted.Parse("counting.yaml", []byte(counting))
	Expect(err).NotTo(HaveOccurred())
	options.Scripts = append(options.Scripts, counting)
	server := httptest.NewServer(scripted.NewServer(options))
	DeferCleanup(server.Close)
	modelURL = server.URL + "/v1"
})

func newNamespace(labels map[string]string) string {
	GinkgoHelper()
	serial++
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("spec-%d", serial), Labels: labels}}
	Expect(api.Create(ctx, ns)).To(Succeed())
	return ns.Name
}

// warnings returns the Events of type Warning in a namespace as "Kind/name Reason: Note".
func warnings(namespace string) func() ([]string, error) {
	return func() ([]string, error) {
		var list corev1.EventList
		if err := api.List(ctx, &list, client.InNamespace(namespace)); err != nil {
			return nil, err
		}
		var seen []string
		for _, e := range list.Items {
			if e.Type == corev1.EventTypeWarning {
				seen = append(seen, fmt.Sprintf("%s/%s %s: %s", e.InvolvedObject.Kind, e.InvolvedObject.Name, e.Reason, e.Message))
			}
		}
		return seen, nil
	}
}

// ready returns the Ready condition of an object as "Status Reason: Message", once it is for the current generation.
func ready(object client.Object) func() (string, error) {
	return func() (string, error) {
		if err := api.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
			return "", err
		}
		all, _ := reflect.ValueOf(object).Elem().FieldByName("Status").FieldByName("Conditions").Interface().([]metav1.Condition)
		c := meta.FindStatusCondition(all, v1beta1.ConditionReady)
		if c == nil || c.ObservedGeneration != object.GetGeneration() {
			return "no current Ready condition", nil
		}
		kind, err := api.GroupVersionKindFor(object)
		if err != nil {
			return "", err
		}
		if _, _, listed := conditions.Find(kind.Kind, *c); !listed {
			return "", fmt.Errorf("%s: %s %s is not in the table of conditions", kind.Kind, c.Status, c.Reason)
		}
		return fmt.Sprintf("%s %s: %s", c.Status, c.Reason, c.Message), nil
	}
}

// edit changes an object, which the operator may write at the same time.
func edit(object client.Object, change func()) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		g.Expect(api.Get(ctx, client.ObjectKeyFromObject(object), object)).To(Succeed())
		change()
		g.Expect(api.Update(ctx, object)).To(Succeed())
	}).Should(Succeed())
}

func secret(namespace, name, key, value string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, StringData: map[string]string{key: value}}
}
