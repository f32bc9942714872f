// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package localcluster

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	certutil "k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// proxyName is the common name of the aggregator's client certificate.
const proxyName = "front-proxy-client"

// enableAggregation configures the API server to forward requests: with a client certificate from a separate
// authority, and the headers that carry the user.
func enableAggregation(server *envtest.APIServer, dir string) error {
	paths, err := writeProxyCertificate(dir)
	if err != nil {
		return fmt.Errorf("create the aggregator's certificate: %w", err)
	}
	server.Configure().
		Set("requestheader-client-ca-file", paths.authority).
		Set("proxy-client-cert-file", paths.certificate).
		Set("proxy-client-key-file", paths.key).
		Set("requestheader-allowed-names", proxyName).
		Set("requestheader-username-headers", "X-Remote-User").
		Set("requestheader-group-headers", "X-Remote-Group").
		Set("requestheader-extra-headers-prefix", "X-Remote-Extra-")
	return nil
}

type proxyFiles struct{ authority, certificate, key string }

func writeProxyCertificate(dir string) (proxyFiles, error) {
	authorityKey, err := newKey()
	if err != nil {
		return proxyFiles{}, err
	}
	authority, err := certutil.NewSelfSignedCACert(certutil.Config{CommonName: "front-proxy-ca"}, authorityKey)
	if err != nil {
		return proxyFiles{}, err
	}
	key, err := newKey()
	if err != nil {
		return proxyFiles{}, err
	}
	certificate, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: proxyName}, NotBefore: authority.NotBefore, NotAfter: authority.NotAfter,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}, authority, key.Public(), authorityKey)
	if err != nil {
		return proxyFiles{}, err
	}
	keyPEM, err := keyutil.MarshalPrivateKeyToPEM(key)
	if err != nil {
		return proxyFiles{}, err
	}
	paths := proxyFiles{filepath.Join(dir, "front-proxy-ca.crt"), filepath.Join(dir, "front-proxy.crt"), filepath.Join(dir, "front-proxy.key")}
	return paths, errors.Join(
		os.WriteFile(paths.authority, certificatePEM(authority.Raw), 0o600),
		os.WriteFile(paths.certificate, certificatePEM(certificate), 0o600),
		os.WriteFile(paths.key, keyPEM, 0o600),
	)
}

func newKey() (crypto.Signer, error) { return ecdsa.GenerateKey(elliptic.P256(), rand.Reader) }

func certificatePEM(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: certutil.CertificateBlockType, Bytes: der})
}

// API is an aggregated API served by a process on this machine.
type API struct {
	schema.GroupVersion
	// Namespace and Service name the Service that represents the process. Its certificate must be for
	// SERVICE.NAMESPACE.svc.
	Namespace, Service string
	// Port is the port of the process, and CABundle the authority of its certificate.
	Port     int32
	CABundle []byte
}

// ServeAPI registers an API and waits until the API server can reach it. Registrations of an earlier run are
// replaced.
func (c *Cluster) ServeAPI(ctx context.Context, served API) error {
	scheme := runtime.NewScheme()
	if err := errors.Join(corev1.AddToScheme(scheme), apiregistrationv1.AddToScheme(scheme)); err != nil {
		return err
	}
	cluster, err := client.New(c.Config, client.Options{Scheme: scheme})
	if err != nil {
		return fmt.Errorf("connect to the cluster: %w", err)
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: served.Namespace}}
	if err := cluster.Create(ctx, namespace); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create namespace %s: %w", served.Namespace, err)
	}
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: served.Namespace, Name: served.Service}}
	if _, err := controllerutil.CreateOrUpdate(ctx, cluster, service, func() error {
		service.Spec = corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "localhost", SessionAffinity: corev1.ServiceAffinityNone}
		return nil
	}); err != nil {
		return fmt.Errorf("write service %s/%s: %w", served.Namespace, served.Service, err)
	}
	registration := &apiregistrationv1.APIService{ObjectMeta: metav1.ObjectMeta{Name: served.Version + "." + served.Group}}
	if _, err := controllerutil.CreateOrUpdate(ctx, cluster, registration, func() error {
		registration.Spec = apiregistrationv1.APIServiceSpec{
			Group: served.Group, Version: served.Version, GroupPriorityMinimum: 1000, VersionPriority: 10, CABundle: served.CABundle,
			Service: &apiregistrationv1.ServiceReference{Namespace: served.Namespace, Name: served.Service, Port: &served.Port},
		}
		return nil
	}); err != nil {
		return fmt.Errorf("register %s: %w", served.GroupVersion, err)
	}
	answers, err := discovery.NewDiscoveryClientForConfig(c.Config)
	if err != nil {
		return fmt.Errorf("connect to the cluster: %w", err)
	}
	return waitUntilServed(ctx, cluster, registration, func() error {
		_, err := answers.ServerResourcesForGroupVersion(served.String())
		return err
	})
}

// serveTimeout limits how long the API server may take to reach an API; it retries with a backoff.
const serveTimeout = 2 * time.Minute

// requiredAnswers is how often in a row an API must answer: the API server may only now notice that an earlier run is
// gone, and reject everything until its next check.
const requiredAnswers = 10

// waitUntilServed sends requests instead of trusting the APIService's status, which may be about an earlier run.
func waitUntilServed(ctx context.Context, cluster client.Client, registration *apiregistrationv1.APIService, answers func() error) error {
	lastErr, times := errors.New("the API server has not checked yet"), 0
	err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, serveTimeout, true, func(ctx context.Context) (bool, error) {
		if err := cluster.Get(ctx, client.ObjectKeyFromObject(registration), registration); err != nil {
			return false, err
		}
		for _, condition := range registration.Status.Conditions {
			if condition.Type != apiregistrationv1.Available {
				continue
			}
			if condition.Status != apiregistrationv1.ConditionTrue {
				lastErr, times = errors.New(condition.Message), 0
				return false, nil
			}
			times++
			if lastErr = answers(); lastErr != nil {
				times = 0
			}
			return times == requiredAnswers, nil
		}
		return false, nil
	})
	if err != nil {
		return fmt.Errorf("wait until the API server reaches %s (%w): %w", registration.Name, lastErr, err)
	}
	return nil
}
