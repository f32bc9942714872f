// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package servingcert_test

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	admissionregistration "k8s.io/client-go/kubernetes/typed/admissionregistration/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	registration "k8s.io/kube-aggregator/pkg/client/clientset_generated/clientset/typed/apiregistration/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/config/operator"
	"github.com/nestor-dev/nestor/internal/localcluster"
	"github.com/nestor-dev/nestor/internal/servingcert"
	"github.com/nestor-dev/nestor/test/patience"
)

const namespace = operator.Namespace

var (
	ctx                context.Context
	core               *typedcorev1.CoreV1Client
	admin              *registration.ApiregistrationV1Client
	configurations     admissionregistration.ValidatingWebhookConfigurationInterface
	operatorConfig     *rest.Config // with the permissions of the chart only
	unprivilegedConfig *rest.Config

	policy = servingcert.Policy{
		Authority: servingcert.Lifetime{Valid: 72 * time.Hour, RenewAfter: 48 * time.Hour},
		Serving:   servingcert.Lifetime{Valid: 9 * time.Hour, RenewAfter: 6 * time.Hour},
		Overlap:   time.Hour,
	}
)

func TestKeepers(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "Serving certificate")
}

var _ = BeforeSuite(func() {
	SetDefaultEventuallyTimeout(patience.Limit())
	var cancel context.CancelFunc
	ctx, cancel = context.WithCancel(context.Background())
	DeferCleanup(cancel)
	cluster, err := localcluster.Start(ctx, localcluster.Options{})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() { Expect(cluster.Stop()).To(Succeed()) })
	core = typedcorev1.NewForConfigOrDie(cluster.Config)
	admin = registration.NewForConfigOrDie(cluster.Config)
	configurations = admissionregistration.NewForConfigOrDie(cluster.Config).ValidatingWebhookConfigurations()
	grant(cluster.Config)
	token, err := core.ServiceAccounts(namespace).CreateToken(ctx, operator.ServiceAccount, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	Expect(err).NotTo(HaveOccurred())
	operatorConfig = rest.AnonymousClientConfig(cluster.Config)
	operatorConfig.BearerToken, operatorConfig.QPS = token.Status.Token, -1
	unprivilegedConfig, err = cluster.AddUser("stranger")
	Expect(err).NotTo(HaveOccurred())
})

// grant gives the operator the permissions of an installation.
func grant(config *rest.Config) {
	GinkgoHelper()
	api, err := client.New(config, client.Options{})
	Expect(err).NotTo(HaveOccurred())
	Expect(api.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})).To(Succeed())
	objects, err := operator.Access()
	Expect(err).NotTo(HaveOccurred())
	for _, object := range objects {
		Expect(api.Create(ctx, object)).To(Succeed(), object.GetName())
	}
}

// environment is the cluster state that the replicas of one operator share. The operator may access only one Secret and one
// APIService, so specs run sequentially.
type environment struct {
	secretName, apiService string
	clock                  *clock
}

func newEnvironment() *environment {
	GinkgoHelper()
	w := &environment{secretName: "nestor-history-cert", apiService: "v1beta1.history.nestor.dev", clock: &clock{now: time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)}}
	DeferCleanup(func() {
		Expect(core.Secrets(namespace).DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{})).To(Succeed())
		Expect(configurations.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{})).To(Succeed())
		Expect(admin.APIServices().DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{FieldSelector: "metadata.name=" + w.apiService})).To(Succeed())
	})
	return w
}

func (w *environment) register() {
	GinkgoHelper()
	_, err := admin.APIServices().Create(ctx, &apiregistrationv1.APIService{
		ObjectMeta: metav1.ObjectMeta{Name: w.apiService},
		Spec: apiregistrationv1.APIServiceSpec{
			Group: "history.nestor.dev", Version: "v1beta1", GroupPriorityMinimum: 1000, VersionPriority: 10,
			Service: &apiregistrationv1.ServiceReference{Namespace: namespace, Name: "nestor-history"},
		},
	}, metav1.CreateOptions{})
	Expect(err).NotTo(HaveOccurred())
}

func (w *environment) registerWebhook() {
	GinkgoHelper()
	objects, err := operator.Admission()
	Expect(err).NotTo(HaveOccurred())
	var configuration admissionregistrationv1.ValidatingWebhookConfiguration
	Expect(runtime.DefaultUnstructuredConverter.FromUnstructured(objects[0].Object, &configuration)).To(Succeed())
	_, err = configurations.Create(ctx, &configuration, metav1.CreateOptions{})
	Expect(err).NotTo(HaveOccurred())
}

func (w *environment) webhook() admissionregistrationv1.ValidatingWebhook {
	GinkgoHelper()
	found, err := configurations.Get(ctx, "nestor", metav1.GetOptions{})
	Expect(err).NotTo(HaveOccurred())
	return found.Webhooks[0]
}

func (w *environment) registered() *apiregistrationv1.APIService {
	GinkgoHelper()
	found, err := admin.APIServices().Get(ctx, w.apiService, metav1.GetOptions{})
	Expect(err).NotTo(HaveOccurred())
	return found
}

func (w *environment) createSecret(data map[string][]byte) {
	GinkgoHelper()
	_, err := core.Secrets(namespace).Create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: w.secretName, Labels: map[string]string{"made-by": "installer"}}, Data: data,
	}, metav1.CreateOptions{})
	Expect(err).NotTo(HaveOccurred())
}

func (w *environment) secret() *corev1.Secret {
	GinkgoHelper()
	found, err := core.Secrets(namespace).Get(ctx, w.secretName, metav1.GetOptions{})
	Expect(err).NotTo(HaveOccurred())
	return found
}

// replica returns a keeper that has not synced yet.
func (w *environment) replica() *servingcert.Keeper { return w.replicaAs(operatorConfig) }

func (w *environment) replicaAs(user *rest.Config) *servingcert.Keeper {
	return servingcert.New(servingcert.Options{
		Names: []string{"nestor-history." + namespace + ".svc"}, SecretName: w.secretName,
		Secrets: typedcorev1.NewForConfigOrDie(user).Secrets(namespace),
		Registrations: []servingcert.Registration{
			servingcert.APIService{Name: w.apiService, Client: registration.NewForConfigOrDie(user).APIServices()},
			servingcert.Webhook{Configuration: "nestor", Name: "admission.nestor.dev", Client: admissionregistration.NewForConfigOrDie(user).ValidatingWebhookConfigurations()},
		},
		Policy: policy, Now: w.clock.Now, Log: GinkgoLogr,
	})
}

func served(replica *servingcert.Keeper) []byte {
	certificate, _ := replica.CurrentCertKeyContent()
	return certificate
}

// expectTrusted expects that the API server trusts the certificate of a replica.
func (w *environment) expectTrusted(replica *servingcert.Keeper) {
	GinkgoHelper()
	block, _ := pem.Decode(served(replica))
	Expect(block).NotTo(BeNil(), "there is no certificate")
	certificate, err := x509.ParseCertificate(block.Bytes)
	Expect(err).NotTo(HaveOccurred())
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(w.registered().Spec.CABundle)
	_, err = certificate.Verify(x509.VerifyOptions{Roots: roots, DNSName: "nestor-history." + namespace + ".svc", CurrentTime: w.clock.Now()})
	Expect(err).NotTo(HaveOccurred(), fmt.Sprintf("at %s", w.clock.Now()))
}
