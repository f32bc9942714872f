// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package endpoint_test

import (
	"context"
	"net"
	"path/filepath"
	"sync"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	manifests "github.com/nestor-dev/nestor/config/operator"
	"github.com/nestor-dev/nestor/internal/controller"
	"github.com/nestor-dev/nestor/internal/ledger/connect"
	"github.com/nestor-dev/nestor/internal/localcluster"
	"github.com/nestor-dev/nestor/internal/operator"
	"github.com/nestor-dev/nestor/test/patience"
	"github.com/nestor-dev/nestor/test/ports"
)

var (
	ctx            context.Context
	api            client.Client
	operatorConfig *rest.Config // with the permissions of the chart only
	address        string
	heard          = &warnings{}
)

func TestWebhook(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "Admission")
}

var _ = BeforeSuite(func() {
	SetDefaultEventuallyTimeout(patience.Limit())
	var cancel context.CancelFunc
	ctx, cancel = context.WithCancel(context.Background())
	DeferCleanup(cancel)
	cluster, err := localcluster.Start(ctx, localcluster.Options{})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() { Expect(cluster.Stop()).To(Succeed()) })
	config := rest.CopyConfig(cluster.Config)
	config.WarningHandler = heard
	api, err = client.New(config, client.Options{Scheme: operator.NewScheme()})
	Expect(err).NotTo(HaveOccurred())
	install(must(manifests.Access()))
	install(must(manifests.History()))
	token, err := kubernetes.NewForConfigOrDie(cluster.Config).CoreV1().ServiceAccounts(manifests.Namespace).
		CreateToken(ctx, manifests.ServiceAccount, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	Expect(err).NotTo(HaveOccurred())
	operatorConfig = rest.AnonymousClientConfig(cluster.Config)
	operatorConfig.BearerToken = token.Status.Token
	address = must(ports.Free(ctx))
	Expect(api.Create(ctx, configuration())).To(Succeed())
})

// install creates the objects of the chart. The history API is not served here, and its Service is this machine.
func install(objects []*unstructured.Unstructured) {
	GinkgoHelper()
	if len(objects) > 0 {
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: manifests.Namespace}}
		Expect(client.IgnoreAlreadyExists(api.Create(ctx, namespace))).To(Succeed())
	}
	for _, object := range objects {
		switch object.GetKind() {
		case "APIService":
			continue
		case "Service":
			object.Object["spec"] = map[string]any{"type": "ExternalName", "externalName": "localhost"}
		}
		Expect(api.Create(ctx, object)).To(Succeed(), object.GetName())
	}
}

// configuration returns that of the chart, for an operator at the address.
func configuration() *admissionregistrationv1.ValidatingWebhookConfiguration {
	GinkgoHelper()
	read := &admissionregistrationv1.ValidatingWebhookConfiguration{}
	Expect(runtime.DefaultUnstructuredConverter.FromUnstructured(must(manifests.Admission())[0].Object, read)).To(Succeed())
	port := int32(must(net.ResolveTCPAddr("tcp", address)).Port)
	read.Webhooks[0].ClientConfig.Service.Port = &port
	return read
}

func must[T any](value T, err error) T {
	GinkgoHelper()
	Expect(err).NotTo(HaveOccurred())
	return value
}

// startOperator runs an operator with the permissions of the chart. The result stops it.
func startOperator() (stop func()) {
	GinkgoHelper()
	store := must(connect.Open(ctx, "sqlite:"+filepath.Join(GinkgoT().TempDir(), "ledger.db")))
	assembled := must(operator.New(ctx, operator.Options{
		Config:      operatorConfig,
		Controllers: controller.Options{OperatorNamespace: manifests.Namespace, Ledger: store},
		History:     operator.History{Certificate: operator.Certificate{Service: "nestor-history", Secret: "nestor-history-cert", APIService: "v1beta1.history.nestor.dev"}},
		Admission:   operator.Admission{Address: address, Configuration: "nestor"},
	}))
	running, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- assembled.Run(running) }()
	return sync.OnceFunc(func() {
		cancel()
		Eventually(ended).Should(Receive(Succeed()))
		Expect(store.Close()).To(Succeed())
	})
}

// warnings collects the Warning headers that the client gets.
type warnings struct {
	mu    sync.Mutex
	texts []string
}

func (w *warnings) HandleWarningHeader(_ int, _, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.texts = append(w.texts, text)
}

// during returns the warnings that come while a function runs.
func (w *warnings) during(do func()) []string {
	w.mu.Lock()
	w.texts = nil
	w.mu.Unlock()
	do()
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.texts
}
