// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"flag"
	"fmt"

	"k8s.io/client-go/kubernetes"
	registration "k8s.io/kube-aggregator/pkg/client/clientset_generated/clientset/typed/apiregistration/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	historyv1alpha1 "github.com/nestor-dev/nestor/api/history/v1alpha1"
	"github.com/nestor-dev/nestor/internal/servingcert"
)

// certificateOptions say where the certificate of the history API comes from.
type certificateOptions struct {
	file, keyFile               string
	secret, service, apiService string
}

// defaultCertificateSecret is where the operator keeps a certificate that it makes.
const defaultCertificateSecret = "nestor-history-cert"

func (c *certificateOptions) register(set *flag.FlagSet) {
	registered := historyv1alpha1.GroupVersion.Version + "." + historyv1alpha1.GroupVersion.Group
	set.StringVar(&c.secret, "history-cert-secret", "", "`name` of the Secret in the operator's namespace in which it keeps the certificate of the history API, which it makes and renews (default "+defaultCertificateSecret+", unless there are files)")
	set.StringVar(&c.service, "history-service", "nestor-history", "`name` of the Service that leads to the history API: the certificate is for NAME.NAMESPACE.svc")
	set.StringVar(&c.apiService, "history-apiservice", registered, "`name` of the APIService whose caBundle is kept up to date with the certificate in the Secret")
	set.StringVar(&c.file, "history-cert-file", "", "`file` with the certificate of the history API, in place of a Secret; the APIService's caBundle is yours to set then")
	set.StringVar(&c.keyFile, "history-key-file", "", "`file` with its key")
}

// check refuses flags that contradict each other.
func (c *certificateOptions) check() error {
	if (c.file == "") != (c.keyFile == "") {
		return errors.New("--history-cert-file and --history-key-file go together: set both, or none")
	}
	if c.file != "" && c.secret != "" {
		return errors.New("--history-cert-secret is for a certificate that the operator makes, --history-cert-file for one of yours: set one of them")
	}
	if c.service == "" || c.apiService == "" {
		return errors.New("--history-service and --history-apiservice need a name: leave them out for the usual ones")
	}
	return nil
}

// host is the name that the API server calls the history API by.
func (c *certificateOptions) host() string { return c.service + "." + operatorNamespace() + ".svc" }

// keeper adds what makes and renews the certificate to what the manager runs; nil if there are files.
func (c *certificateOptions) keeper(mgr ctrl.Manager) (*servingcert.Keeper, error) {
	if c.file != "" {
		return nil, nil
	}
	core, err := kubernetes.NewForConfig(mgr.GetConfig())
	if err != nil {
		return nil, fmt.Errorf("connect to the cluster: %w", err)
	}
	registered, err := registration.NewForConfig(mgr.GetConfig())
	if err != nil {
		return nil, fmt.Errorf("connect to the cluster: %w", err)
	}
	secret := c.secret
	if secret == "" {
		secret = defaultCertificateSecret
	}
	keeper := servingcert.New(servingcert.Options{
		Names: []string{c.host()}, SecretName: secret, Secrets: core.CoreV1().Secrets(operatorNamespace()),
		APIService: servingcert.APIService{Name: c.apiService, Client: registered.APIServices()},
		Log:        mgr.GetLogger().WithName("certificate"),
	})
	if err := mgr.AddReadyzCheck("certificate", keeper.Ready); err != nil {
		return nil, fmt.Errorf("add the certificate's readiness check: %w", err)
	}
	if err := mgr.Add(keeper); err != nil {
		return nil, fmt.Errorf("add the keeper of the certificate: %w", err)
	}
	return keeper, nil
}
