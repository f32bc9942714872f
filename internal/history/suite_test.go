// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package history_test

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	historyapi "github.com/nestor-dev/nestor/api/history/v1beta1"
	"github.com/nestor-dev/nestor/internal/history"
	"github.com/nestor-dev/nestor/internal/history/live"
	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/ledger/connect"
	"github.com/nestor-dev/nestor/internal/ledger/sqlstore"
	"github.com/nestor-dev/nestor/internal/localcluster"
	"github.com/nestor-dev/nestor/test/patience"
)

const operatorNamespace = "nestor-system"

var (
	ctx     context.Context
	cluster *localcluster.Cluster
	core    kubernetes.Interface
)

func TestHistory(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "History")
}

var _ = BeforeSuite(func() {
	SetDefaultEventuallyTimeout(patience.Limit())
	SetDefaultEventuallyPollingInterval(50 * time.Millisecond)
	ctrl.SetLogger(GinkgoLogr)
	klog.SetLogger(GinkgoLogr)
	var cancel context.CancelFunc
	ctx, cancel = context.WithCancel(context.Background())
	DeferCleanup(cancel)
	var err error
	cluster, err = localcluster.Start(ctx, localcluster.Options{})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() { Expect(cluster.Stop()).To(Succeed()) })
	core = kubernetes.NewForConfigOrDie(cluster.Config)
})

type servedLedger struct {
	ledger ledger.Ledger
	hub    *live.Hub
	server *history.Server
	stop   func()
}

// newLedger opens an SQLite ledger until the specs that need it have run.
func newLedger() ledger.Ledger {
	GinkgoHelper()
	return openLedger("sqlite:" + filepath.Join(GinkgoT().TempDir(), "ledger.db"))
}

func openLedger(dsn string, options ...sqlstore.Option) ledger.Ledger {
	GinkgoHelper()
	store, err := connect.Open(ctx, dsn, options...)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() { Expect(store.Close()).To(Succeed()) })
	return stamped{store}
}

// stamped is a ledger whose records have the UID of their namespace, as the operator writes them.
type stamped struct{ ledger.Ledger }

func (s stamped) Append(ctx context.Context, batch ledger.Batch) error {
	if c := batch.Create; c != nil && c.NamespaceUID == "" {
		if ns, err := core.CoreV1().Namespaces().Get(ctx, c.Namespace, metav1.GetOptions{}); err == nil {
			c.NamespaceUID = string(ns.UID)
		}
	}
	return s.Ledger.Append(ctx, batch)
}

// serve serves a ledger through the aggregator and replaces an earlier server.
func serve(store ledger.Ledger, adjust ...func(*history.Options)) servedLedger {
	GinkgoHelper()
	hub := &live.Hub{}
	options := history.Options{
		Cluster: cluster.Config, Ledger: store, Live: hub, Address: "127.0.0.1:0", Hosts: []string{"nestor-history." + operatorNamespace + ".svc"},
		Poll: 100 * time.Millisecond, Review: 100 * time.Millisecond,
	}
	for _, change := range adjust {
		change(&options)
	}
	server, err := history.New(ctx, options)
	Expect(err).NotTo(HaveOccurred())
	serving, cancel := context.WithCancel(ctx)
	stopped := make(chan error, 1)
	go func() { stopped <- server.Start(serving) }()
	w := servedLedger{ledger: store, hub: hub, server: server, stop: func() {
		cancel()
		Eventually(stopped).Should(Receive(Succeed()))
	}}
	Expect(cluster.ServeAPI(ctx, localcluster.API{
		GroupVersion: historyapi.GroupVersion, Namespace: operatorNamespace, Service: "nestor-history", Port: server.Port(), CABundle: server.CABundle(),
	})).To(Succeed())
	return w
}

// write checks the result of a pen's write.
func write(err error) {
	GinkgoHelper()
	Expect(err).NotTo(HaveOccurred())
}

func namespace(name string) {
	GinkgoHelper()
	_, err := core.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	if !apierrors.IsAlreadyExists(err) {
		Expect(err).NotTo(HaveOccurred())
	}
}

// kubectl runs kubectl as an administrator, or with --as as another user.
func kubectl(args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, cluster.Kubectl, append([]string{
		"--kubeconfig", cluster.Kubeconfig, "--cache-dir", filepath.Join(filepath.Dir(cluster.Kubeconfig), "cache"),
	}, args...)...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return stdout.String(), fmt.Errorf("kubectl %s: %w: %s%s", strings.Join(args, " "), err, stdout.String(), stderr.String())
	}
	return stdout.String(), nil
}

// fetch reads a path as an administrator.
func fetch(path string) (string, error) {
	result := core.CoreV1().RESTClient().Get().RequestURI(path).Do(ctx)
	data, _ := result.Raw() // the error is the same, without the server's message
	return string(data), result.Error()
}

// must expects that a command succeeds.
func must(out string, err error) string {
	GinkgoHelper()
	Expect(err).NotTo(HaveOccurred())
	return out
}

// errorText expects that a command or a request fails, and returns the error.
func errorText(_ string, err error) string {
	GinkgoHelper()
	Expect(err).To(HaveOccurred())
	return err.Error()
}

// columns returns the fields of kubectl's output, without the header.
func columns(out string) [][]string {
	var rows [][]string
	for i, line := range strings.Split(strings.TrimSpace(out), "\n") {
		if i > 0 {
			rows = append(rows, strings.Fields(line))
		}
	}
	return rows
}

func firstColumn(out string) []string {
	var names []string
	for _, row := range columns(out) {
		names = append(names, row[0])
	}
	return names
}

// waitForPermission waits until the API server lets a user do something with a resource of the history, which is later than the binding is created.
func waitForPermission(user, namespace, verb, resource, subresource string) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{User: user, ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: namespace, Verb: verb, Group: historyapi.GroupVersion.Group, Resource: resource, Subresource: subresource,
		}}}
		answer, err := core.AuthorizationV1().SubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(answer.Status.Allowed).To(BeTrue(), "%s %s %s/%s as %s", verb, namespace, resource, subresource, user)
	}).Should(Succeed())
}

func raw(namespace, path string) string {
	return fmt.Sprintf("/apis/%s/namespaces/%s/%s", historyapi.GroupVersion, namespace, path)
}
